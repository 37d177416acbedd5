"""Time to insert into a tree of growing size, without embedding and language model.

    python -m benchmarks.tree_scale [--to 1000000] [--dimension 384]

The vectors are a mixture of nested clusters, whose cosines are spread as those of real sentences.
Prints, for 1,000 nodes and each doubling, the median and 99th percentile of the last inserts, the
depth, and milliseconds per log2(nodes).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from treering.tree.shape import ROOT, Settings, Tree
from treering.tree.threshold import Threshold

TOPICS, SUBJECTS = 200, 4_000
LAST = 500  # inserts that a figure is taken over


def mixture(dimension: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """Unit vectors around subjects that lie around topics, for ever."""
    rng = np.random.default_rng(seed)
    topics = rng.normal(size=(TOPICS, dimension))
    subjects = topics[rng.integers(TOPICS, size=SUBJECTS)]
    subjects += 0.8 * rng.normal(size=subjects.shape)
    while True:
        block = subjects[rng.integers(SUBJECTS, size=1000)]
        block = block + 1.2 * rng.normal(size=block.shape)
        yield from (block / np.linalg.norm(block, axis=1, keepdims=True)).astype(np.float32)


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--to", type=int, default=1_000_000, help="nodes")
    parser.add_argument("--dimension", type=int, default=384)
    options = parser.parse_args()
    tree = Tree(options.dimension, Settings(Threshold()))
    times: list[float] = []
    wanted = 1_000
    print("nodes leaves topics p50_ms p99_ms ms_per_log2")
    for vector in mixture(options.dimension, seed=0):
        started = time.perf_counter()
        tree.insert(vector)
        times.append(1000 * (time.perf_counter() - started))
        if len(tree) < wanted:
            continue
        median, high = np.percentile(times[-LAST:], [50, 99])
        topics = len(tree.children(ROOT))
        ratio = median / math.log2(len(tree))
        print(
            f"{len(tree)} {tree.leaf_count} {topics} {median:.3f} {high:.3f} {ratio:.4f}",
            flush=True,
        )
        if wanted >= options.to:
            break
        wanted = min(2 * wanted, options.to)


if __name__ == "__main__":
    main()
