"""Caches of vectors: for a run, which embeds each question once, or in a file for all runs."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.embed.minilm import SHA256

WAIT_S: Final = 600
"""Seconds to wait for another process that writes to the file."""


class _SameModel:
    """An embedder whose vectors are those of another one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        return self._embedder.dimension


class _VectorCache(_SameModel):
    """An embedder that caches the vectors of its queries, or of its texts."""

    def __init__(self, embedder: Embedder, *, queries: bool) -> None:
        super().__init__(embedder)
        self._queries = queries
        self._known: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """One vector a text, shape (len(texts), dimension)."""
        if query != self._queries:
            return self._embedder.embed(texts, query=query)
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            vectors = self._embedder.embed(new, query=query)
            self._known |= dict(zip(new, vectors, strict=True))
        return np.stack([self._known[text] for text in texts])


class QuestionCache(_VectorCache):
    """An embedder that keeps the vectors of queries: every policy asks the same questions.

    Texts to be remembered are not cached, so that taking them in costs what it costs.
    """

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder, queries=True)


class TextCache(_VectorCache):
    """An embedder that keeps the vectors of texts too, for systems that hold the same ones."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder, queries=False)


class FileCache(_SameModel):
    """An embedder whose vectors stay in a file, by the model's checksum and the text."""

    def __init__(self, embedder: Embedder, file: Path) -> None:
        super().__init__(embedder)
        self._lock = threading.Lock()  # protects the connection
        file.parent.mkdir(parents=True, exist_ok=True)
        # Another process may be storing what it embedded.
        self._file = sqlite3.connect(file, timeout=WAIT_S, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB NOT NULL) "
            "WITHOUT ROWID"
        )
        checksum = SHA256 if embedder.name == "minilm" else embedder.name
        self._model = hashlib.sha256(checksum.encode()).digest()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """One vector per text, shape (len(texts), dimension), of half precision."""
        digests = [self._digest(text, query) for text in texts]
        with self._lock:
            vectors = {digest: self._stored(digest) for digest in digests}
        missing = {
            digest: text
            for digest, text in zip(digests, texts, strict=True)
            if vectors[digest] is None
        }
        if missing:
            embedded = self._embedder.embed(list(missing.values()), query=query)
            vectors |= dict(zip(missing, embedded.astype(np.float16), strict=True))
            with self._lock, self._file:
                self._file.executemany(
                    "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
                    [(digest, vectors[digest].tobytes()) for digest in missing],
                )
        return np.array([vectors[digest] for digest in digests], dtype=np.float32)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _stored(self, digest: bytes) -> Any:
        row = self._file.execute(
            "SELECT vector FROM vectors WHERE digest = ?", (digest,)
        ).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float16)

    def _digest(self, text: str, query: bool) -> bytes:
        read_as = b"query" if query else b"text"
        return hashlib.blake2b(
            text.encode(), digest_size=16, key=self._model, person=read_as
        ).digest()
