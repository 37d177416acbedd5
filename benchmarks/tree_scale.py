"""Time to insert into a tree of growing size, without embedding and language model.

    python -m benchmarks.tree_scale [--to 1000000] [--out FOLDER]

The vectors are a mixture of nested clusters, whose cosines are spread as those of real sentences.
Prints, for 1,000 nodes and each doubling, the median and 99th percentile of the last inserts, the
depth, and milliseconds per log2(nodes). With ``--out``, also writes ``tree-scale.json`` and the
curve as ``tree-scale.svg``, beside the growth that is promised: logarithmic times branching.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from treering.bench.perf.parts import mixture
from treering.tree.shape import ROOT, Settings, Tree
from treering.tree.threshold import Threshold

LAST = 500  # inserts that a figure is taken over
PROMISED_NODES, PROMISED_MS = 100_000, 1.0


@dataclass(frozen=True, slots=True)
class Figure:
    """One size of the tree: ``depth`` of the last leaves, ``topics`` below the root."""

    nodes: int
    leaves: int
    topics: int
    depth: float
    p50_ms: float
    p99_ms: float
    ms_per_log2: float


def measured(to: int, dimension: int) -> Iterator[Figure]:
    """A figure for 1,000 nodes, each doubling, 100,000 and ``to``."""
    tree = Tree(dimension, Settings(Threshold()))
    times: list[float] = []
    depths: list[int] = []
    wanted = sizes(to)
    for vector in mixture(dimension, seed=0):
        started = time.perf_counter()
        inserted = tree.insert(vector)
        times.append(1000 * (time.perf_counter() - started))
        depths.append(len(inserted.path) + 1)
        if len(tree) < wanted[0]:
            continue
        median, high = np.percentile(times[-LAST:], [50, 99])
        yield Figure(
            nodes=len(tree),
            leaves=tree.leaf_count,
            topics=len(tree.children(ROOT)),
            depth=round(float(np.mean(depths[-LAST:])), 1),
            p50_ms=round(float(median), 4),
            p99_ms=round(float(high), 4),
            ms_per_log2=round(float(median) / math.log2(len(tree)), 5),
        )
        del wanted[0]
        if not wanted:
            return


def sizes(to: int) -> list[int]:
    """1,000 and its doublings, 100,000 and the last, ascending."""
    doubled = {1_000 * 2**power for power in range(1 + int(math.log2(max(to // 1_000, 1))))}
    return sorted(size for size in doubled | {PROMISED_NODES, to} if size <= to)


def draw(figures: Sequence[Figure], path: Path) -> None:
    """The medians over the sizes, both on a logarithmic scale, and what is promised."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6.4, 4.0), layout="constrained")
    axes = canvas.subplots()
    nodes = np.array([one.nodes for one in figures])
    axes.plot(nodes, [one.p50_ms for one in figures], "o-", label="insert, p50")
    axes.plot(nodes, [one.p99_ms for one in figures], "--", color="0.6", label="insert, p99")
    first = figures[0]
    logarithm = first.p50_ms * np.log2(nodes) / math.log2(first.nodes)
    axes.plot(nodes, logarithm, ":", color="0.3", label="log2(nodes)")
    axes.plot(
        nodes,
        logarithm * np.array([one.topics for one in figures]) / first.topics,
        "-.",
        color="0.3",
        label="log2(nodes) · children of the root",
    )
    axes.plot([PROMISED_NODES], [PROMISED_MS], "rx", label="promised at most")
    axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="ms")
    axes.grid(which="both", color="0.92")
    axes.legend(frameon=False)
    canvas.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--to", type=int, default=1_000_000, help="nodes")
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--out", type=Path, help="folder for tree-scale.json and .svg")
    options = parser.parse_args()
    print("nodes leaves topics depth p50_ms p99_ms ms_per_log2")
    figures = []
    for one in measured(options.to, options.dimension):
        figures.append(one)
        print(*asdict(one).values(), flush=True)
    if options.out:
        found = {"dimension": options.dimension, "machine": platform.machine()}
        rows = [asdict(one) for one in figures]
        text = json.dumps(found | {"figures": rows}, indent=1)
        (options.out / "tree-scale.json").write_text(text + "\n", encoding="utf-8")
        draw(figures, options.out / "tree-scale.svg")


if __name__ == "__main__":
    main()
