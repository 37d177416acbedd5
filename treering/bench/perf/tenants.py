"""Many spaces in one file: opening one of them, and forgetting in many at once."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from treering.bench.perf.texts import RandomVectors, turns
from treering.bench.perf.timing import (
    LEAST_ROUNDS,
    LIMIT,
    MANY_ROUNDS,
    OURS,
    Bounds,
    Timing,
    compared,
    many_rounds,
    seconds_of,
    spread,
)
from treering.bench.perf.world import World
from treering.errors import JournalBusy
from treering.llm.settings import NONE
from treering.memory import Memory

TENANTS = 100  # who forget at once
SPACE_TURNS = 10
SPACES_MOST = 10_000


def forgets(world: World) -> list[Timing]:
    """100 tenants of the file who forget a turn each at once, against one of them alone.

    It is done when nothing of any of them is left in the file's bytes.
    """
    with ExitStack() as stack:
        memories = [
            stack.enter_context(_tenant(world.path, world.vectors, f"tenant {number}"))
            for number in range(TENANTS)
        ]
        ids = [_filled(memory, number, LEAST_ROUNDS + 1) for number, memory in enumerate(memories)]
        alone = [
            seconds_of(lambda: _forget(memories[0], ids[0].pop())) for _ in range(LEAST_ROUNDS)
        ]
        with ThreadPoolExecutor(TENANTS) as threads:
            last = [entries.pop() for entries in ids]
            together = seconds_of(lambda: list(threads.map(_forget, memories, last)))
        for memory in memories[1:]:
            memory.forget(source="own")
    return compared("forgets", world.n, {LIMIT: [statistics.median(alone)], OURS: [together]})


class ManySpaces:
    """Spaces of ten turns in one file, ``n`` turns in all."""

    def __init__(self, vectors: RandomVectors, bounds: Bounds) -> None:
        self._vectors = vectors
        self._patience = bounds.patience

    def __call__(self, n: int) -> list[Timing]:
        """Opening a space and its first search, against the same in a file with no other space."""
        spaces = n // SPACE_TURNS
        if spaces > SPACES_MOST:
            return []
        with TemporaryDirectory(prefix="treering-perf-") as folder:
            alone, many = Path(folder) / "alone.db", Path(folder) / "many.db"
            _fill(alone, self._vectors, 1)
            _fill(many, self._vectors, spaces)
            taken: dict[str, list[float]] = {LIMIT: [], OURS: []}
            numbers = iter(np.random.default_rng(0).permutation(spaces).tolist())
            steps = itertools.chain(numbers, itertools.cycle([0]))

            def round_() -> None:
                taken[LIMIT].append(seconds_of(lambda: self._search(alone, 0)))
                taken[OURS].append(seconds_of(lambda: self._search(many, next(steps))))

            many_rounds(round_, self._patience)
        return spread("spaces", n, taken)

    def _search(self, path: Path, number: int) -> None:
        with _tenant(path, self._vectors, f"space {number}") as memory:
            memory.search("what did Ben tell Ana?", k=SPACE_TURNS)


def _tenant(path: Path, vectors: RandomVectors, space: str) -> Memory:
    return Memory.open(path, space=space, embedder=vectors, llm=NONE)


def _fill(path: Path, vectors: RandomVectors, spaces: int) -> None:
    for number in range(spaces):
        with _tenant(path, vectors, f"space {number}") as memory:
            memory.add(turns(number * SPACE_TURNS, SPACE_TURNS), source="own")


def _filled(memory: Memory, number: int, count: int) -> list[str]:
    """Turns of a tenant; their ids but for that of one which stays till the end."""
    texts: Iterator[str] = (f"tenant {number} says {n}" for n in range(count + 1))
    messages = [{"role": "user", "content": text} for text in texts]
    return list(memory.add(messages, source="own").ids)[1:]


def _forget(memory: Memory, entry_id: str) -> None:
    scrubbed = memory.forget(entry_id).scrubbed
    for _ in range(MANY_ROUNDS):
        if scrubbed:
            return
        try:
            memory.settle()
            scrubbed = True
        except JournalBusy:
            continue
