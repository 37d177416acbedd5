"""The contract of an embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from treering.arrays import Floats


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. Several threads may use it at a time.

    ``name`` identifies the model and how to open it again (see ``open_embedder``): vectors of two
    embedders with equal names must be comparable. An optional attribute ``reads`` is the number of
    characters that the model reads; longer fragments are then embedded in parts.
    """

    @property
    def name(self) -> str:
        """The specification of the model, such as ``minilm``."""
        ...

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """One vector per text, shape (len(texts), dimension). Raises EmbeddingError."""
        ...
