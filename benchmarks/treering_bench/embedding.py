"""One embedding model for a whole run, which embeds each question once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import Embedder


class _VectorCache:
    """An embedder that caches the vectors of its queries, or of its texts, and passes on the rest.

    Its name is the model's own: its vectors are the model's.
    """

    def __init__(self, embedder: Embedder, *, queries: bool) -> None:
        self._embedder = embedder
        self._queries = queries
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
