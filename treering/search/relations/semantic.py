"""The semantic relation (FragRel eq. 6), in both readings, without an N×N matrix.

Both are affine in the cosine, so ``W·s`` follows from ``E·(Eᵀ·s)`` and ``Σ s``: O(N·d).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treering.arrays import Floats
from treering.errors import InputError
from treering.search.relations.contract import Items, Operator, by_column
from treering.search.vectors import Matrix, ProjectedMatrix, cosines

BLOCK = 65_536  # rows a block of Eᵀ·s: 20 % faster than one call, and few waits for other threads
MATRIX_COLUMNS = 8  # below this, one matrix-vector product a column is faster than a thin matrix

ROUNDING = np.float32(2e-6)
"""A mean weight within the rounding of float32 cosines: ``1 − cos`` of equal texts is not 0."""


class SemanticOperator:
    """W = bias + scale·E·Eᵀ for unit rows E, shape (N, d)."""

    def __init__(self, vectors: Matrix, bias: float, scale: float) -> None:
        self._vectors = vectors
        self._bias = np.float32(bias)
        self._scale = np.float32(scale)

    def propagate(self, scores: Floats) -> Floats:
        """``W·scores``, shape (N,) or (N, Q)."""
        if scores.ndim == 2 and scores.shape[1] < MATRIX_COLUMNS:
            return by_column(self.propagate, scores)
        # W·s = bias·Σs + E·(scale·Eᵀ·s): two thin products instead of an N×N matrix.
        projected = self._project(scores)
        total = scores.sum(axis=0, dtype=np.float64).astype(np.float32)
        projected *= self._scale
        columns = projected if scores.ndim == 2 else projected[:, None]
        result = cosines(self._vectors, columns.T).reshape(scores.shape)
        result += self._bias * total
        return result

    def mass(self) -> Floats:
        """``W·1``."""
        mass = self.propagate(np.ones(len(self._vectors), dtype=np.float32))
        return np.where(mass > ROUNDING * len(mass), mass, np.float32(0))

    def _project(self, scores: Floats) -> Floats:
        """``Eᵀ·scores``, shape (d,) or (d, Q)."""
        if isinstance(self._vectors, ProjectedMatrix):
            return self._vectors.project(scores)
        total = np.zeros((self._vectors.shape[1], *scores.shape[1:]), dtype=np.float32)
        for start in range(0, len(self._vectors), BLOCK):
            block = slice(start, start + BLOCK)
            total += self._vectors[block].T @ scores[block]
        return total


@dataclass(frozen=True, slots=True)
class Semantic:
    """Likeness of meaning, eq. 6: ``(1 + cos)/2``, or ``1 − cos`` with ``form="printed"``."""

    form: str = "similarity"
    name: str = "semantic"

    def __post_init__(self) -> None:
        if self.form not in ("similarity", "printed"):
            raise InputError(f"semantic form is {self.form!r}; it can be similarity or printed")

    def bind(self, items: Items) -> Operator:
        """Over the items' vectors."""
        if self.form == "printed":
            return SemanticOperator(items.vectors, bias=1.0, scale=-1.0)
        return SemanticOperator(items.vectors, bias=0.5, scale=0.5)
