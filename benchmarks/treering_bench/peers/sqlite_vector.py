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
    " vector float[{dimension}] distance_metric=cosine, speaker TEXT)"
)


class SqliteVec:
    """Texts in a table, vectors and speakers in another, each batch in one transaction."""

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
        """As ``add_said``, of nobody."""
        self.add_said(texts, [""] * len(texts))

    def add_said(self, texts: Sequence[str], speakers: Sequence[str]) -> None:
        """Append rows to both tables."""
        vectors = np.asarray(self._embedder.embed(texts), dtype=np.float32)
        numbers = range(self._count, self._count + len(texts))
        blobs = (vector.tobytes() for vector in vectors)
        with self._file:
            self._file.executemany(
                "INSERT INTO texts VALUES (?, ?)", zip(numbers, texts, strict=True)
            )
            self._file.executemany(
                "INSERT INTO vectors VALUES (?, ?, ?)", zip(numbers, blobs, speakers, strict=True)
            )
        self._count += len(texts)

    def search(self, query: str, k: int) -> list[int]:
        """The nearest texts."""
        return self._nearest("", (self._vector(query), k))

    def search_said(self, query: str, k: int, speaker: str) -> list[int]:
        """The nearest texts of one speaker."""
        return self._nearest(" AND speaker = ?", (self._vector(query), k, speaker))

    def _vector(self, query: str) -> bytes:
        [vector] = self._embedder.embed([query], query=True)
        return np.asarray(vector, dtype=np.float32).tobytes()

    def _nearest(self, condition: str, params: tuple[bytes | int | str, ...]) -> list[int]:
        rows = self._file.execute(
            f"SELECT number FROM vectors WHERE vector MATCH ? AND k = ?{condition}"
            " ORDER BY distance",
            params,
        )
        return [int(row[0]) for row in rows]

    def forget(self, number: int) -> None:
        """Delete a row of both tables."""
        with self._file:
            for table in ("texts", "vectors"):
                self._file.execute(f"DELETE FROM {table} WHERE number = ?", (number,))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
