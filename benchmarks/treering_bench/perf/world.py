"""One memory that grows, and beside it a bare SQLite file that holds the same."""

from __future__ import annotations

import itertools
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.errors import InputError, UnknownName
from treering.journal.sqlite.connection import CACHE_KIB, PAGE_SIZE
from treering.llm.settings import NONE
from treering.memory import Memory
from treering_bench.perf.texts import RandomVectors, questions, turns
from treering_bench.perf.timing import BOUNDS, LIMIT, OURS, Bounds, Timing, compared, seconds_of

BATCH = 1000  # turns an add, which are a source
PASSING = ("sentences", "passing")
"""Sources that operations add and forget again."""


_TABLES = (
    "CREATE TABLE IF NOT EXISTS turn (id INTEGER PRIMARY KEY, source INTEGER, text TEXT)",
    "CREATE INDEX IF NOT EXISTS turn_source ON turn (source)",
    "CREATE TABLE IF NOT EXISTS embedding (turn INTEGER PRIMARY KEY, vector BLOB)",
)
_PRAGMAS = (
    *(f"page_size={PAGE_SIZE}", f"cache_size=-{CACHE_KIB}", "journal_mode=WAL"),
    *("synchronous=FULL", "secure_delete=ON"),
)


class BareFile:
    """Texts and vectors in SQLite as treering opens it, with one index, and nothing else: the limit
    of a file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = sqlite3.connect(path)
        for pragma in _PRAGMAS:
            self._file.execute(f"PRAGMA {pragma}")
        for table in _TABLES:
            self._file.execute(table)
        self._source = 0

    def add(self, texts: list[str], vectors: Floats) -> None:
        """One transaction."""
        blobs = ((vector.tobytes(),) for vector in vectors)
        self._source += 1
        rows = ((self._source, text) for text in texts)
        with self._file:
            self._file.executemany("INSERT INTO turn (source, text) VALUES (?, ?)", rows)
            self._file.executemany("INSERT INTO embedding (vector) VALUES (?)", blobs)

    def cut(self, n: int) -> None:
        """Keep the first ``n`` rows."""
        with self._file:
            self._file.execute("DELETE FROM turn WHERE id > ?", (n,))
            self._file.execute("DELETE FROM embedding WHERE turn > ?", (n,))

    def forget_last(self) -> None:
        """Delete a row, and rewrite the file so that none of its bytes are left."""
        with self._file:
            for table, key in (("turn", "id"), ("embedding", "turn")):
                self._file.execute(
                    f"DELETE FROM {table} WHERE {key} = (SELECT max({key}) FROM {table})"
                )
        self._file.execute("VACUUM")
        self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def source_of(number: int) -> str:
    """The source of a turn, by its number."""
    return f"chat {number // BATCH}"


def vectors_in(path: Path) -> Floats:
    """The vectors of a bare file, as one matrix of shape (N, d)."""
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute("SELECT vector FROM embedding ORDER BY turn")
        blobs = [row[0] for row in rows]
    return np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(len(blobs), -1)


class World:
    """A memory of ``n`` turns in a file, and a bare file with the same turns, or the first of them.

    In a ``folder`` of its own it stays, and the next one goes on growing it.
    """

    def __init__(
        self,
        model: Embedder,
        folder: Path | None = None,
        bounds: Bounds = BOUNDS,
    ) -> None:
        self.model = model
        self.bounds = bounds
        self.questions = questions()
        self._opened = ExitStack()
        self.folder = folder or Path(
            self._opened.enter_context(TemporaryDirectory(prefix="treering-perf-"))
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        self.vectors = RandomVectors(model.name, model.dimension)
        self.path = self.folder / "memory.db"
        self.memory = self._opened.enter_context(
            Memory.open(self.path, embedder=self.vectors, llm=NONE)
        )
        self.bare = self._opened.enter_context(closing(BareFile(self.folder / "bare.db")))
        self._drop_passing()
        self.n = self.memory.stats().entries
        self.bare.cut(self.n)  # which takes in a batch first

    def grow(self, n: int) -> list[Timing]:
        """Add turns until there are ``n``, in batches in turn; the seconds per turn (``store``).

        Nothing happens if there are as many already. Raises InputError if there are more.
        """
        if self.n > n:
            raise InputError(f"{self.folder} holds {self.n:,} turns, more than {n:,}; remove it")
        times: dict[str, list[float]] = defaultdict(list)
        start = self.n
        if start == n:
            return []
        for self.n in itertools.chain(range(start + BATCH, n, BATCH), (n,)):
            batch = turns(start, self.n - start)
            texts = [turn["content"] for turn in batch]
            vectors = self.vectors.embed(texts)
            size = len(batch)
            if self.has_whole_bare_file:
                bare = seconds_of(lambda: self.bare.add(texts, vectors))  # noqa: B023 - run at once
                times[LIMIT].append(bare / size)
            ours = seconds_of(lambda: self.memory.add(batch, source=source_of(start)))  # noqa: B023
            times[OURS].append(ours / size)
            start = self.n
        return compared("store", n, times) if self.has_whole_bare_file else []

    @property
    def has_whole_bare_file(self) -> bool:
        """Whether the bare file has all turns."""
        return self.n <= self.bounds.bare_most

    def add_passing(self, count: int, source: str) -> Iterator[str]:
        """Add messages to be forgotten; their ids."""
        messages = [
            {"role": "user", "content": f"a sentence to be forgotten, {n}"} for n in range(count)
        ]
        return iter(self.memory.add(messages, source=source).ids)

    def _drop_passing(self) -> None:
        """Forget what operations added that were cut short."""
        for source in PASSING:
            with suppress(UnknownName):
                self.memory.forget(source=source)

    def close(self) -> None:
        """Close both files."""
        self._opened.close()
