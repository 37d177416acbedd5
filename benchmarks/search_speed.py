"""Exact relation-aware search against the physical limit, the bare matrix-vector product.

    python benchmarks/search_speed.py [--sizes 100000 300000 1000000]

For each N: the float32 product of N × 384 vectors with a query, then ``rank`` and the top 10 with
the dense score alone, with the context relation, and with the semantic relation added; alternating
in one run, medians. Prints a line a size and one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from treering.fragments.store import State
from treering.fragments.table import Snapshot
from treering.recall.rank import rank
from treering.records import KINDS
from treering.relate.combine import Relations
from treering.relate.contract import Items
from treering.relate.decay import Context
from treering.relate.defaults import Weighted
from treering.relate.registry import Plan
from treering.relate.semantic import Semantic
from treering.score.lexical import Lexical

DIMENSION = 384
DOCUMENT = 100  # fragments a document
ROUNDS = 15


def snapshot(size: int) -> Snapshot:
    """N random unit vectors in documents of 100 fragments."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((size, DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.arange(size, dtype=np.int64)
    missing = np.full(size, -1, dtype=np.int64)
    items = Items(
        document=rows // DOCUMENT,
        position=rows % DOCUMENT,
        session=missing,
        speaker=missing,
        at=np.full(size, np.nan),
        vectors=vectors,
    )
    kind = np.full(size, KINDS.index("text"), dtype=np.int8)
    embedded = np.ones(size, dtype=np.bool_)
    state = State(space=1, revision=1, model=None, next=None)
    return Snapshot(rows, rows, kind, items, Lexical(), embedded, (), ("text",), 1, state)


def measure(size: int) -> dict[str, float]:
    """Median milliseconds of each variant, and the ratios to the bare product."""
    table = snapshot(size)
    query = table.items.vectors[size // 2].copy()
    relations = Relations()
    context = Weighted(Context(w=0.5), alpha=1.0)
    plans: dict[str, Plan] = {
        "dense": {},
        "context": {"text": (context,)},
        "context+semantic": {"text": (context, Weighted(Semantic(), alpha=0.5))},
    }

    def search(plan: Plan) -> None:
        rank(table, relations, plan, ["?"], query[None], "dense").best(0, 10)

    variants: dict[str, Callable[[], object]] = {"product": lambda: table.items.vectors @ query}
    variants |= {name: partial(search, plan) for name, plan in plans.items()}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS + 1):
        for name, run in variants.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    # The first round binds the relations.
    medians = {name: 1e3 * statistics.median(found[1:]) for name, found in times.items()}
    ratios = {
        f"{name}/product": statistics.median(
            one / bare for one, bare in zip(times[name][1:], times["product"][1:], strict=True)
        )
        for name in plans
    }
    return {f"{name}_ms": value for name, value in medians.items()} | ratios


def main() -> None:
    """Measure every size and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    results = {}
    for size in parser.parse_args().sizes:
        found = measure(size)
        results[str(size)] = found
        print(f"{size:>9}", *(f"{name} {value:.2f}" for name, value in found.items()))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
