"""Vectors of the bundled model for the texts of the corpus, the same on every processor.

A quantised model computes other vectors on another processor. So its vectors are stored, as whole
numbers of eight bits. Each has a length of exactly 256: their cosines are exact in any order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.errors import EmbeddingError

FILE = Path(__file__).parent / "vectors.npz"
DIMENSION = 384
LENGTH = 256
DIGEST_BYTES = 8


class StoredVectors:
    """An embedder with a file of vectors. A ``model``, if given, embeds texts that lack one."""

    name = "golden"
    dimension = DIMENSION

    def __init__(self, model: Embedder | None = None) -> None:
        self._model = model
        self._used: set[bytes] = set()
        self._vectors: dict[bytes, NDArray[np.int8]] = {}
        if FILE.exists():
            with np.load(FILE) as file:
                digests = [bytes(digest) for digest in file["digests"]]
                self._vectors = dict(zip(digests, file["vectors"], strict=True))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """The vectors of texts. Raise EmbeddingError for a text that is not in the file."""
        digests = [_digest(text) for text in texts]
        for digest, text in zip(digests, texts, strict=True):
            if digest not in self._vectors:
                self._vectors[digest] = self._compute(text)
        self._used.update(digests)
        rows = [self._vectors[digest] for digest in digests]
        return np.array(rows, dtype=np.float32).reshape(-1, DIMENSION) / np.float32(LENGTH)

    def _compute(self, text: str) -> NDArray[np.int8]:
        if self._model is None:
            raise EmbeddingError(
                f"no vector is stored for {text!r}; if the embedded texts are to change, run "
                "`.venv/bin/python -m tests.golden` and commit the difference"
            )
        [vector] = self._model.embed([text])
        return round_to_length(vector)

    def save(self) -> None:
        """Store the vectors that were used, and no others."""
        digests = sorted(self._used)
        np.savez_compressed(
            FILE,
            digests=np.array([np.frombuffer(digest, dtype=np.uint8) for digest in digests]),
            vectors=np.array([self._vectors[digest] for digest in digests]),
        )


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


def round_to_length(vector: Floats) -> NDArray[np.int8]:
    """The vector of whole numbers nearby whose length is ``LENGTH`` exactly."""
    exact = vector.astype(np.float64) * LENGTH / np.linalg.norm(vector)
    whole = np.rint(exact).astype(np.int64)
    while missing := LENGTH**2 - int(whole @ whole):
        # One step of one number changes the square by 2|x| + 1 or 1 - 2|x|: take a step that
        # comes nearer, and of these the one that was rounded the furthest.
        step = np.where(whole >= 0, 1, -1) * (1 if missing > 0 else -1)
        change = (whole + step) ** 2 - whole**2
        fits = np.abs(missing - change) < abs(missing)
        error = np.where(fits, np.abs(whole + step - exact), np.inf)
        at = int(np.argmin(error))
        whole[at] += step[at]
    return whole.astype(np.int8)
