"""The cost of a memory to a process that has just begun: the first search, and main memory."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ParamSpec, TypeVar

from treering.journal.sqlite.connection import PAGE_SIZE
from treering.llm.settings import NONE
from treering.memory import Memory
from treering_bench.perf.texts import RandomVectors
from treering_bench.perf.timing import LEAST_ROUNDS, LIMIT, OURS, Timing, compared
from treering_bench.perf.world import PASSING, World

P = ParamSpec("P")
T = TypeVar("T")

TOP = 10
BLOB_BYTES = 1 << 20
FLOAT_BYTES = 4
_READ, _STATUS, _RESET = (Path(f"/proc/self/{name}") for name in ("io", "status", "clear_refs"))
_, DOOMED = PASSING


@dataclass(frozen=True, slots=True)
class FirstSearch:
    """The seconds of opening and the first search, and the bytes that were read for them."""

    seconds: float
    read: int


def first(world: World) -> list[Timing]:
    """Opening and the first search of a process, against reading as many bytes from SQLite.

    The bytes are those that the system says the process has read, in blobs of 1 MB. Measured
    where the system says so, which is Linux.
    """
    if not _READ.exists():
        return []
    searches = [
        in_fresh_process(first_search, world.path, world.vectors.name, world.vectors.dimension)
        for _ in range(LEAST_ROUNDS)
    ]
    best = min(searches, key=lambda search: search.seconds)
    with TemporaryDirectory(prefix="treering-perf-") as folder:
        path = Path(folder) / "blobs.db"
        _write_blobs(path, best.read)
        limit = min(in_fresh_process(read_blobs, path) for _ in range(LEAST_ROUNDS))
    return compared("first", world.n, {LIMIT: [limit], OURS: [best.seconds]})


def peak(world: World) -> list[Timing]:
    """The most main memory per fragment that a process takes which opens, searches, adds, filters
    and forgets, against the vectors' own bytes as numbers of four bytes. Measured on Linux.
    """
    if not _STATUS.exists():
        return []
    grown = in_fresh_process(lived, world.path, world.vectors.name, world.vectors.dimension)
    vectors = float(world.vectors.dimension * FLOAT_BYTES)
    return compared("peak", world.n, {LIMIT: [vectors], OURS: [grown / world.n]}, "B")


def in_fresh_process(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of ``work`` in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *args, **kwargs).result()


def first_search(path: Path, name: str, dimension: int) -> FirstSearch:
    """Open a memory and search it once; run in a fresh process."""
    vectors = RandomVectors(name, dimension)
    vectors.embed(["a question"])  # which imports what draws numbers: no part of a memory
    before = _read_bytes()
    start = time.perf_counter()
    with Memory.open(path, embedder=vectors, llm=NONE) as memory:
        memory.search("what did Ana say about name17 and name4321?", k=TOP)
        return FirstSearch(time.perf_counter() - start, _read_bytes() - before)


def read_blobs(path: Path) -> float:
    """The seconds of reading all blobs of a file; run in a fresh process."""
    start = time.perf_counter()
    with closing(sqlite3.connect(path)) as file:
        for (blob,) in file.execute("SELECT bytes FROM block"):
            len(blob)
    return time.perf_counter() - start


def lived(path: Path, name: str, dimension: int) -> int:
    """The bytes by which the peak of this process grows while it uses a memory."""
    vectors = RandomVectors(name, dimension)
    with suppress(OSError):  # not every system lets a process count anew
        _RESET.write_text("5", "ascii")
    before = peak_bytes()
    with Memory.open(path, embedder=vectors, llm=NONE) as memory:
        memory.search("what did Ana say about name17 and name4321?", k=TOP)
        message = {"role": "user", "name": "Ana", "content": "a sentence in passing"}
        [added] = memory.add(message, source=DOOMED).ids
        memory.search("what did Ben say about name18?", k=TOP)
        memory.search("what did Ben say about name19?", k=TOP, speaker="Ben")
        memory.forget(added)
        memory.search("what did Ben say about name20?", k=TOP, relations=("context", "semantic"))
    return peak_bytes() - before


def peak_bytes() -> int:
    """The most main memory that this process has had since it began, or since it was told to
    count anew.
    """
    lines = _STATUS.read_text("ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def _read_bytes() -> int:
    lines = _READ.read_text("ascii").splitlines()
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])


def _write_blobs(path: Path, size: int) -> None:
    blob = bytes(BLOB_BYTES)
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA page_size={PAGE_SIZE}")
        file.execute("CREATE TABLE block (bytes BLOB)")
        rows = ((blob,) for _ in range(max(1, round(size / BLOB_BYTES))))
        with file:
            file.executemany("INSERT INTO block VALUES (?)", rows)
