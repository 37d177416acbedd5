"""Checks of embedders: every vector of an embedding model comes through here, and has length 1.

An embedder may be a plug-in or an endpoint. So the shape of its vectors is checked, and that every
number is finite. Its errors become errors of treering.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.errors import DimensionMismatch, EmbeddingError, TreeringError

_SHORTEST = np.float32(1e-12)
"""The least divisor: a vector of length zero stays zero."""


def checked(
    embedder: Embedder, texts: Sequence[str], *, query: bool = False, dimension: int | None = None
) -> Floats:
    """Unit vectors of texts, shape (len(texts), dimension); by default the embedder's dimension.

    Raises EmbeddingError when a vector is not finite, DimensionMismatch when the shape is wrong.
    """
    width = embedder.dimension if dimension is None else dimension
    vectors = shaped(embedder, texts, width, query=query)
    spoilt = int((~np.isfinite(vectors)).any(axis=1).sum())
    if spoilt:
        raise not_finite(embedder, spoilt)
    return unit_rows(vectors)


def shaped(
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
