"""A memory that lives: searches between adds and forgets, filtered ones, and its file.

Of a search that is timed many times the median and the worst are reported, each beside a median.
"""

from __future__ import annotations

import itertools
import sqlite3
import statistics
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from treering.arrays import Floats
from treering.memory import Memory
from treering_bench.perf.texts import FIRST_AT, TOPICS, TURN_S, sentences
from treering_bench.perf.timing import (
    FEW_ROUNDS,
    LIMIT,
    OURS,
    ROUNDS,
    Timing,
    compared,
    in_turn,
    many_rounds,
    rest,
    seconds_of,
    spread,
)
from treering_bench.perf.world import PASSING, World, source_of, vectors_in

TOP = 10
RELATIONS = {"context": ("context",), "semantic": ("context", "semantic")}
WARMING = 2  # that come before one that is timed
SENTENCES, DOOMED = PASSING
INGESTED = 64  # sentences a round of ``ingest``: some tenths of a second of the bundled model


def warm(world: World) -> list[Timing]:
    """``Memory.search`` with relations by name, against the bare product; medians.

    Each comes after others of its kind: the other leaves nothing of it in the processor's cache.
    """
    query, matrix = _product_of(world)
    scale = world.n / len(matrix)
    timed: list[Timing] = []
    for name, relations in RELATIONS.items():
        ways: dict[str, Callable[[], float]] = {
            LIMIT: lambda: scale * seconds_of(lambda: matrix @ query),
            OURS: partial(_searched, world, relations=relations),
        }
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(2 * ROUNDS):
            for system, way in ways.items():
                rest()
                *_, warmed_up = (way() for _ in range(WARMING + 1))
                taken[system].append(warmed_up)
        medians = {system: [statistics.median(times)] for system, times in taken.items()}
        timed += compared(f"warm {name}", world.n, medians)
    return timed


def after_add(world: World) -> list[Timing]:
    """The search after one add, against a warm one."""
    numbers = itertools.count()

    def add() -> None:
        content = f"a sentence in passing, {next(numbers)}"
        world.memory.add({"role": "user", "content": content}, source=DOOMED)

    timed = _between(world, "after-add", add)
    world.memory.forget(source=DOOMED)
    return timed


def by_source(world: World) -> list[Timing]:
    """A search of one source among many, another each time."""
    sources = (source_of(37_000 * number % world.n) for number in itertools.count())
    return _filtered(world, "by-source", ({"source": source} for source in sources))


def by_time(world: World) -> list[Timing]:
    """A search of a tenth of the time, another each time."""
    span = TURN_S * world.n

    def wheres() -> Iterator[dict[str, Any]]:
        for number in itertools.count():
            since = FIRST_AT + number % 10 * span / 10
            yield {"since": since, "until": since + span / 10}

    return _filtered(world, "by-time", wheres())


def by_metadata(world: World) -> list[Timing]:
    """A search of the turns with a value in their metadata, another each time."""
    topics = itertools.cycle(range(TOPICS))
    return _filtered(world, "by-metadata", ({"metadata": {"topic": topic}} for topic in topics))


def _product_of(world: World) -> tuple[Floats, Floats]:
    """A query's vector, and the matrix of all vectors that the bare file has."""
    [query] = world.vectors.embed(["query"])
    return query, vectors_in(world.bare.path)


def _searched(world: World, **options: Any) -> float:
    question = next(world.questions)
    return seconds_of(lambda: world.memory.search(question, k=TOP, **options))


def _between(world: World, operation: str, change: Callable[[], object]) -> list[Timing]:
    """Warm searches, and those that come after a change, in turn."""
    taken: dict[str, list[float]] = {LIMIT: [], OURS: []}
    _searched(world)

    def round_() -> None:
        taken[LIMIT].append(_searched(world))
        change()
        taken[OURS].append(_searched(world))

    many_rounds(round_, world.bounds.patience)
    return spread(operation, world.n, taken)


def _filtered(world: World, operation: str, wheres: Iterator[dict[str, Any]]) -> list[Timing]:
    """Warm searches of everything, and filtered ones, in turn."""
    taken: dict[str, list[float]] = {LIMIT: [], OURS: []}
    _searched(world)

    def round_() -> None:
        taken[LIMIT].append(_searched(world))
        taken[OURS].append(_searched(world, **next(wheres)))

    many_rounds(round_, world.bounds.patience)
    return spread(operation, world.n, taken)


def ingest(world: World) -> list[Timing]:
    """Adding sentences with the bundled model, against the bare embedder;
    seconds per sentence.
    """
    rounds = FEW_ROUNDS + 1
    texts = sentences(rounds * INGESTED)
    times: dict[str, list[float]] = {LIMIT: [], OURS: []}
    with Memory.open(world.path, embedder=world.model) as memory:
        for first in range(rounds):
            batch = texts[first::rounds]  # long and short ones in each
            messages = [{"role": "user", "name": "Ana", "content": text} for text in batch]
            bare = seconds_of(lambda: world.model.embed([f"Ana: {t}" for t in batch]))  # noqa: B023
            ours = seconds_of(lambda: memory.add(messages, source=SENTENCES))  # noqa: B023
            times[LIMIT].append(bare / len(batch))
            times[OURS].append(ours / len(batch))
        memory.forget(source=SENTENCES)
    return compared("ingest", world.n, {name: seconds[1:] for name, seconds in times.items()})


def forget(world: World) -> list[Timing]:
    """Forgetting one entry, gone from the file's bytes, against SQLite's delete and vacuum."""
    ids = world.add_passing(FEW_ROUNDS + 1, DOOMED)
    ways = {LIMIT: world.bare.forget_last, OURS: lambda: world.memory.forget(next(ids))}
    return in_turn("forget", world.n, ways, FEW_ROUNDS)


def size(world: World) -> list[Timing]:
    """Bytes of the file per fragment, against those of the same texts and vectors in SQLite."""
    taken = {LIMIT: world.bare.path, OURS: world.path}
    per_turn = {name: [_settled_bytes(path) / world.n] for name, path in taken.items()}
    return compared("size", world.n, per_turn, "B")


def _settled_bytes(path: Path) -> int:
    """The bytes of a file of SQLite, with its log written back into it."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size
