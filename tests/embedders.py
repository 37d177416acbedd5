"""Embedders for tests: one that needs no model, and ones that fail in the ways that models do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from treering.arrays import Floats
from treering.errors import EmbeddingError

Tamper = Callable[[Sequence[str], Floats], Floats]

WORD = re.compile(r"\w+")


class HashingEmbedder:
    """A bag of words under a fixed random projection: texts that share words are alike.

    ``tamper`` may change the vectors of a call, or raise, to play a model that misbehaves.
    """

    def __init__(
        self,
        name: str = "hashing",
        dimension: int = 64,
        tamper: Tamper | None = None,
    ) -> None:
        self.name = name
        self._dimension = dimension
        self.tamper = tamper
        self.texts: list[str] = []

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        self.texts.extend(texts)
        found = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in WORD.findall(text.lower()):
                found[row] += projected(self.name, self._dimension, word)
        return self.tamper(texts, found) if self.tamper else found


@lru_cache(4096)
def projected(name: str, dimension: int, word: str) -> Floats:
    """The part of a word in a vector, kept for the tests that say the same words."""
    digest = hashlib.shake_128(f"{name} {word}".encode()).digest(dimension)
    return np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - np.float32(127.5)


def down(texts: Sequence[str], vectors: Floats) -> Floats:
    """The model cannot be reached."""
    raise EmbeddingError("connection refused")


class Endpoint(HashingEmbedder):
    """A model behind a network: while it is down, not even its dimension is known."""

    def __init__(self, name: str = "endpoint", *, up: bool = True) -> None:
        super().__init__(name)
        self.up = up

    @property
    def dimension(self) -> int:
        self._answer()
        return self._dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        self._answer()
        return super().embed(texts, query=query)

    def _answer(self) -> None:
        if not self.up:
            raise EmbeddingError("connection refused")
