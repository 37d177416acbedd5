"""The contract of an embedding model, and the checks of its vectors.

Every vector of a model comes through these checks, and has length 1. A model may be a plug-in or an
endpoint. So the shape of its vectors is checked, and that every number is finite. Its errors become
errors of treering.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from treering.arrays import Floats
from treering.errors import DimensionMismatch, EmbeddingError, TreeringError


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


_SHORTEST = np.float32(1e-12)
"""The least divisor: a vector of length zero stays zero."""


def unit_vectors(
    embedder: Embedder, texts: Sequence[str], *, query: bool = False, dimension: int | None = None
) -> Floats:
    """Unit vectors of texts, shape (len(texts), dimension); by default the embedder's dimension.

    Raises EmbeddingError when a vector is not finite, DimensionMismatch when the shape is wrong.
    """
    width = embedder.dimension if dimension is None else dimension
    vectors = raw_vectors(embedder, texts, width, query=query)
    spoilt = int((~np.isfinite(vectors)).any(axis=1).sum())
    if spoilt:
        raise not_finite(embedder, spoilt)
    return unit_rows(vectors)


def raw_vectors(
    embedder: Embedder, texts: Sequence[str], dimension: int, *, query: bool = False
) -> Floats:
    """Vectors as the embedder made them, shape (len(texts), dimension); some may not be finite.

    Raises EmbeddingError for whatever the embedder raises, DimensionMismatch for another shape.
    """
    try:
        vectors = np.asarray(embedder.embed(texts, query=query), dtype=np.float32)
    except TreeringError:
        raise
    except Exception as error:  # a plug-in may raise anything, and must not hold up the journal
        raise EmbeddingError(
            f"embedder {embedder.name!r} failed: {type(error).__name__}: {error}"
        ) from error
    expected = (len(texts), dimension)
    if vectors.shape != expected:
        raise DimensionMismatch(
            f"embedder {embedder.name!r} returned shape {vectors.shape}, expected {expected}; was "
            "the model exchanged under the same name?"
        )
    return vectors


def unit_rows(vectors: Floats) -> Floats:
    """The rows of shape (N, dimension), each divided by its length; rows of zeros stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = vectors / np.maximum(lengths, _SHORTEST)
    return unit


def not_finite(
    embedder: Embedder, count: int, then: str = "another model may read them"
) -> EmbeddingError:
    """The error for vectors with infinities or NaN; ``then`` names the consequence."""
    return EmbeddingError(
        f"embedder {embedder.name!r} refused {count} texts or made vectors of them that are not "
        f"finite; {then}"
    )
