"""The operations of a memory, each against the fastest way this machine could do it."""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from treering.memory import Memory
from treering_bench.perf.fresh import in_fresh_process
from treering_bench.perf.texts import RandomVectors, sentences
from treering_bench.perf.timing import (
    FEW_ROUNDS,
    LIMIT,
    OURS,
    ROUNDS,
    Timing,
    compared,
    in_turn,
    seconds_of,
)
from treering_bench.perf.world import PASSING, World, vectors_in

TOP = 10
_STATM = Path("/proc/self/statm")
SENTENCES, DOOMED = PASSING
INGESTED = 64  # sentences a round of ``ingest``: some tenths of a second of the bundled model


def search(world: World) -> list[Timing]:
    """``Memory.search``, top 10, against the bare matrix-vector product.

    A question's vector is random, so that no model's time hides the rest.
    """
    matrix = vectors_in(world.bare.path)
    [query] = world.vectors.embed(["query"])
    asked = world.questions

    def product() -> None:
        np.argpartition(matrix @ query, -TOP)[-TOP:]

    ways: dict[str, Callable[[], object]] = {
        LIMIT: product,
        OURS: lambda: world.memory.search(next(asked), k=TOP),
    }
    return in_turn("search", world.n, ways, ROUNDS)


def opening(world: World) -> list[Timing]:
    """Opening the file until the first search is done, against reading all vectors from SQLite."""

    def ours() -> None:
        with Memory.open(world.path, embedder=world.vectors) as memory:
            memory.search(next(world.questions), k=TOP)

    ways = {LIMIT: lambda: vectors_in(world.bare.path), OURS: ours}
    return in_turn("open", world.n, ways, FEW_ROUNDS)


def ingest(world: World) -> list[Timing]:
    """Adding sentences with the bundled model to what is there, against the bare embedder;
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
    """The bytes of a file of SQLite, with what its log holds written back into it."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def resident(world: World) -> list[Timing]:
    """Main memory per fragment of opening and a first search, against the vectors' own bytes.

    Measured where the system tells a process its exact size, which is Linux.
    """
    if not _STATM.exists():
        return []
    name, dimension = world.vectors.name, world.vectors.dimension
    grown = in_fresh_process(resident_bytes, world.path, name, dimension)
    vectors = float(world.vectors.dimension * np.dtype(np.float32).itemsize)
    return compared("resident", world.n, {LIMIT: [vectors], OURS: [grown / world.n]}, "B")


def resident_bytes(path: Path, name: str, dimension: int) -> int:
    """The bytes by which this process grows when it opens a memory and searches it."""
    vectors = RandomVectors(name, dimension)
    before = _resident()
    with Memory.open(path, embedder=vectors) as memory:
        memory.search("what did Ana say about name17 and name4321?", k=TOP)
        return _resident() - before


def _resident() -> int:
    pages = int(_STATM.read_text("ascii").split()[1])
    return pages * resource.getpagesize()
