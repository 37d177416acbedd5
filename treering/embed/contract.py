"""The contract of an embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from treering.arrays import Floats


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. Must be usable from several threads at once.

    ``name`` identifies the model and how to open it again (see ``open_embedder``): vectors of two
    embedders with equal names must be comparable. A model may say with an attribute ``reads`` how
    many characters of a text it reads; longer fragments are then embedded in parts of so many.
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
