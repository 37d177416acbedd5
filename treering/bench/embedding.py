"""One embedding model for a whole run, which embeds each question once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treering.embed.contract import Embedder
from treering.relate.contract import Floats


class QuestionCache:
    """An embedder that keeps the vectors of queries: every policy asks the same questions.

    Texts to be remembered go through uncached, so that ingest costs what it costs.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Floats] = {}

    @property
    def name(self) -> str:
        """The model's own name: its vectors are the model's."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        return self._embedder.dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """One vector a text, shape (len(texts), dimension)."""
        if not query:
            return self._embedder.embed(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            vectors = self._embedder.embed(new, query=True)
            self._known |= dict(zip(new, vectors, strict=True))
        return np.stack([self._known[text] for text in texts])


class TextCache:
    """An embedder that keeps the vectors of texts too, for systems that hold the same ones."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Floats] = {}

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        return self._embedder.dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """One vector a text, shape (len(texts), dimension)."""
        if query:
            return self._embedder.embed(texts, query=True)
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known |= dict(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])
