"""Caches of vectors: of a run's questions, or of its texts, or of all in a file for many runs."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.embed.minilm import SHA256

WAIT_S: Final = 600
"""Seconds to wait for another process that writes to the file."""


class VectorCache:
    """An embedder that keeps vectors: of queries, of other texts, or of both.

    Every policy asks the same questions. Texts that a memory takes in are not kept by the cache of
    queries, so that adding them costs what it costs.
    """

    precision: type[np.floating[Any]] = np.float32

    def __init__(self, embedder: Embedder, *, queries: bool = True, texts: bool = False) -> None:
        self._embedder = embedder
        self._keeps = {True: queries, False: texts}
        self._vectors: dict[bytes, Floats] = {}
        self.name = embedder.name
        self.dimension = embedder.dimension
        checksum = SHA256 if embedder.name == "minilm" else embedder.name
        self._model = hashlib.sha256(checksum.encode()).digest()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """One vector per text, shape (len(texts), dimension)."""
        if not self._keeps[query]:
            return self._embedder.embed(texts, query=query)
        digests = [self._digest(text, query) for text in texts]
        vectors = dict(self._known(digests))
        missing = {
            digest: text
            for digest, text in zip(digests, texts, strict=True)
            if digest not in vectors
        }
        if missing:
            embedded = self._embedder.embed(list(missing.values()), query=query)
            new = dict(zip(missing, embedded.astype(self.precision), strict=True))
            self._keep(new)
            vectors |= new
        return np.array([vectors[digest] for digest in digests], dtype=np.float32)

    def _known(self, digests: Iterable[bytes]) -> Mapping[bytes, Floats]:
        return {digest: self._vectors[digest] for digest in digests if digest in self._vectors}

    def _keep(self, vectors: Mapping[bytes, Floats]) -> None:
        self._vectors |= vectors

    def _digest(self, text: str, query: bool) -> bytes:
        read_as = b"query" if query else b"text"
        return hashlib.blake2b(
            text.encode(), digest_size=16, key=self._model, person=read_as
        ).digest()


class FileCache(VectorCache):
    """An embedder whose vectors stay in a file, in half precision, by the model and the text."""

    precision = np.float16

    def __init__(self, embedder: Embedder, file: Path) -> None:
        super().__init__(embedder, texts=True)
        self._lock = threading.Lock()  # protects the connection
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = sqlite3.connect(file, timeout=WAIT_S, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB NOT NULL) "
            "WITHOUT ROWID"
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _known(self, digests: Iterable[bytes]) -> Mapping[bytes, Floats]:
        select = "SELECT vector FROM vectors WHERE digest = ?"
        with self._lock:
            rows = {digest: self._file.execute(select, (digest,)).fetchone() for digest in digests}
        return {d: np.frombuffer(row[0], dtype=self.precision) for d, row in rows.items() if row}

    def _keep(self, vectors: Mapping[bytes, Floats]) -> None:
        halves = [(digest, vector.tobytes()) for digest, vector in vectors.items()]
        with self._lock, self._file:
            self._file.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", halves)
