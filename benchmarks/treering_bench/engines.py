"""The same memory in a file and in PostgreSQL: what each operation takes, in one run."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from treering.embed.contract import Embedder
from treering.llm.settings import NONE
from treering.memory import Memory
from treering_bench.perf.run import sizes
from treering_bench.perf.texts import RandomVectors, questions, turns
from treering_bench.perf.timing import FEW_ROUNDS, ROUNDS, seconds_of
from treering_bench.scratch_schema import scratch_schema

FILE, POSTGRES = "file", "postgres"
BATCH = 1000  # turns an add while the memories are filled

Times = dict[str, dict[str, list[float]]]
"""Seconds by operation and engine."""


def compare_engines(database: str, model: Embedder, most: int) -> dict[str, Any]:
    """Seconds of storing, adding, searching, forgetting and opening at growing sizes.

    By size, operation and engine, the median; ``ratio`` is PostgreSQL's to the file's. Storing is
    by turn, in batches; opening includes the first search.
    """
    vectors = RandomVectors(model.name, model.dimension)
    with TemporaryDirectory(prefix="treering-bench-") as folder, scratch_schema(database) as url:
        places: dict[str, str | Path] = {FILE: Path(folder) / "memory.db", POSTGRES: url}
        figures, before = {}, 0
        for n in sizes(most):
            times: Times = defaultdict(lambda: {name: [] for name in places})
            _store(places, vectors, before, n, times)
            _time(places, vectors, times)
            figures[str(n)] = {operation: _told(taken) for operation, taken in times.items()}
            before = n
    return figures


def _told(taken: Mapping[str, Sequence[float]]) -> dict[str, float]:
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    return medians | {"ratio": medians[POSTGRES] / medians[FILE]}


def _store(
    places: Mapping[str, str | Path], vectors: RandomVectors, start: int, end: int, times: Times
) -> None:
    for first in range(start, end, BATCH):
        batch = turns(first, min(BATCH, end - first))
        for name, place in places.items():
            with Memory.open(place, embedder=vectors, llm=NONE) as memory:
                taken = seconds_of(lambda: memory.add(batch, source=f"chat {first}"))  # noqa: B023
            times["store"][name].append(taken / len(batch))


def _time(places: Mapping[str, str | Path], vectors: RandomVectors, times: Times) -> None:
    asked = questions()
    for name, place in places.items():
        with Memory.open(place, embedder=vectors, llm=NONE) as memory:
            memory.search(next(asked))
            for operation, (work, rounds) in _operations(memory, asked).items():
                work()
                times[operation][name] += (seconds_of(work) for _ in range(rounds))

        def opened() -> None:
            with Memory.open(place, embedder=vectors, llm=NONE) as memory:  # noqa: B023
                memory.search(next(asked))

        opened()
        times["open"][name] += (seconds_of(opened) for _ in range(FEW_ROUNDS))


def _operations(
    memory: Memory, asked: Iterator[str]
) -> dict[str, tuple[Callable[[], object], int]]:
    """What is timed on an open memory, and how often. What is added is forgotten in the end."""
    numbers = iter(range(10**6))
    added: list[str] = []

    def add() -> None:
        added.extend(memory.add(f"a sentence to be forgotten, {next(numbers)}", source="x").ids)

    def search_after_add() -> None:
        memory.search(next(asked))

    return {
        "add": (add, ROUNDS),
        "search": (search_after_add, ROUNDS),
        "forget": (lambda: memory.forget(added.pop()), FEW_ROUNDS),
    }
