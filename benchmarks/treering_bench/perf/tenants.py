"""Many spaces in one file: opening one of them, and forgetting in many at once."""

from __future__ import annotations

import itertools
import secrets
import statistics
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from treering.errors import JournalBusy
from treering.llm.settings import NONE
from treering.memory import Memory
from treering_bench.perf.texts import RandomVectors, turns
from treering_bench.perf.timing import (
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
from treering_bench.perf.world import World

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
            for number in range(LEAST_ROUNDS + TENANTS)
        ]
        added = [(memory, _added(memory)) for memory in memories]
        alone = [seconds_of(partial(_forget, *first)) for first in added[:LEAST_ROUNDS]]
        with ThreadPoolExecutor(TENANTS) as threads:
            tenants = added[LEAST_ROUNDS:]
            together = seconds_of(lambda: list(threads.map(lambda pair: _forget(*pair), tenants)))
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


def _added(memory: Memory) -> str:
    """The id of a turn to be forgotten; another one stays."""
    said = secrets.token_hex()  # by nobody before
    messages = [{"role": "user", "content": f"number {n} of {said}"} for n in range(2)]
    return memory.add(messages, source="own").ids[0]


def _forget(memory: Memory, entry_id: str) -> None:
    """Forget until nothing is left in the file's bytes; who is told to wait asks again."""
    is_erased = False
    for _ in range(MANY_ROUNDS):
        try:
            if not is_erased:
                is_scrubbed = memory.forget(entry_id).scrubbed
                is_erased = True
            else:
                memory.settle()
                is_scrubbed = True
        except JournalBusy:
            continue
        if is_scrubbed:
            return
