"""sqlite-vec: a virtual table of SQLite with exact vector search.

It is loaded by ``apsw``, as the ``sqlite3`` of many Pythons is built without extensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from treering.embed.contract import Embedder
from treering_bench.peers.contract import missing_peer

_TEXTS = "CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT)"
_VECTORS = (
    "CREATE VIRTUAL TABLE vectors USING vec0(number INTEGER PRIMARY KEY,"
    " vector float[{dimension}] distance_metric=cosine)"
)


class SqliteVec:
    """Texts in a table, vectors in another, each batch in one transaction."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        try:
            import apsw
            import sqlite_vec
        except ImportError as error:
            raise missing_peer("sqlite-vec") from error
        self._embedder = embedder
        self._count = 0
        self._file = apsw.Connection(str(folder / "vectors.db"))
        self._file.enable_load_extension(True)
        self._file.load_extension(sqlite_vec.loadable_path())
        self._file.enable_load_extension(False)
        self._file.execute("PRAGMA journal_mode=WAL")
        self._file.execute(_TEXTS)
        self._file.execute(_VECTORS.format(dimension=embedder.dimension))

    def add(self, texts: Sequence[str]) -> None:
        """Append rows to both tables."""
        vectors = np.asarray(self._embedder.embed(texts), dtype=np.float32)
        numbers = range(self._count, self._count + len(texts))
        blobs = (vector.tobytes() for vector in vectors)
        with self._file:
            self._file.executemany(
                "INSERT INTO texts VALUES (?, ?)", zip(numbers, texts, strict=True)
            )
            self._file.executemany(
                "INSERT INTO vectors VALUES (?, ?)", zip(numbers, blobs, strict=True)
            )
        self._count += len(texts)

    def search(self, query: str, k: int) -> list[int]:
        """The nearest texts."""
        [vector] = self._embedder.embed([query], query=True)
        blob = np.asarray(vector, dtype=np.float32).tobytes()
        rows = self._file.execute(
            "SELECT number FROM vectors WHERE vector MATCH ? AND k = ? ORDER BY distance",
            (blob, k),
        )
        return [int(row[0]) for row in rows]

    def close(self) -> None:
        """Close the file."""
        self._file.close()
