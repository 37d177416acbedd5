"""The semantic relation (FragRel eq. 6), in both readings, without an N×N matrix.

Both are affine in the cosine, so ``W·s`` follows from ``E·(Eᵀ·s)`` and ``Σ s``: O(N·d).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treering.arrays import Floats
from treering.errors import InputError
from treering.search.relations.contract import Items, Operator, by_column
from treering.search.vectors import Matrix, cosines, project

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
        return by_column(self._propagate_column, scores)

    def mass(self) -> Floats:
        """``W·1``."""
        mass = self.propagate(np.ones(len(self._vectors), dtype=np.float32))
        return np.where(mass > ROUNDING * len(mass), mass, np.float32(0))

    def _propagate_column(self, scores: Floats) -> Floats:
        # W·s = bias·Σs + E·(scale·Eᵀ·s): two products with E instead of an N×N matrix.
        total = scores.sum(dtype=np.float64).astype(np.float32)
        result = cosines(self._vectors, project(self._vectors, scores) * self._scale)
        result += self._bias * total
        return result


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
