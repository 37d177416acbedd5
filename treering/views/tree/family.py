"""The children of one node, their vectors side by side so that one product compares them all."""

from __future__ import annotations

from array import array
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.views.tree.rows import Rows

Vector = NDArray[np.float32]
Exact = NDArray[np.int64]

LARGE: Final = 32
"""Children from which a family keeps their vectors side by side. On real text nearly all have two
or three; only the root has hundreds, and gathering those would take longer than comparing them."""

FEW: Final = 8
"""Leaves up to which a family keeps no sum of their vectors: six in seven families of a tree of
real text, whose sums would take more room than all else in it."""

FIXED_POINT: Final = float(1 << 30)
"""Unit of the exact sums: a unit vector's components are kept to 1e-9, finer than float32, and
2^33 leaves fit below one node before an int64 could overflow."""


def exact(vector: Vector) -> Exact:
    """The vector in fixed point: integer sums do not depend on the order of adds and removals."""
    return np.rint(vector.astype(np.float64) * FIXED_POINT).astype(np.int64)


def mean(total: Exact, count: int) -> Vector:
    """The mean of ``count`` vectors with that sum: x·mean is the mean cosine of x to them."""
    return (total / (FIXED_POINT * count)).astype(np.float32)


def direction(total: Exact) -> Vector:
    """The unit vector of an exact sum; zero where the summands cancel out."""
    floats = total.astype(np.float64)
    norm = float(np.sqrt(floats @ floats))
    return (floats / norm if norm else floats).astype(np.float32)


class Family:
    """Children in order of arrival; the vectors of a large family also lie side by side.

    ``leaves`` counts the leaves below the parent. ``newest`` is the highest number that one of them
    ever had. ``total`` is the exact sum of their vectors, or None for up to ``FEW`` leaves, whose
    sum is computed when needed.
    """

    __slots__ = ("_block", "leaves", "members", "newest", "total")

    def __init__(self) -> None:
        self.members = array("q")
        self.leaves = 0
        self.newest = 0
        self.total: Exact | None = None
        self._block: Vector | None = None

    def __len__(self) -> int:
        return len(self.members)

    def vectors(self, rows: Rows) -> Vector:
        """The children's routing vectors, shape (children, d); not to be written to."""
        if self._block is None:
            return rows.together(self.members)
        return self._block[: len(self.members)]

    def nearest(
        self, vector: Vector, rows: Rows, barred: NDArray[np.bool_] | None = None
    ) -> tuple[int, float]:
        """Slot and cosine of the most similar child that is not barred; the earliest of equals.

        The cosine is −∞ if all are barred.
        """
        similarities = self.vectors(rows) @ vector
        if barred is not None:
            similarities = np.where(barred, -np.inf, similarities)
        slot = int(similarities.argmax())
        return slot, float(similarities[slot])

    def append(self, node: int, rows: Rows) -> int:
        """Add a child, which has its vector in ``rows``, at the end; returns its slot."""
        slot = len(self.members)
        self.members.append(node)
        if (self._block is not None and slot == len(self._block)) or slot + 1 == LARGE:
            grown = np.empty((2 * (slot + 1), rows.dimension), dtype=np.float32)
            grown[: slot + 1] = rows.together(self.members)
            self._block = grown
        elif self._block is not None:
            self._block[slot] = rows[node]
        return slot

    def put(self, slot: int, node: int, rows: Rows) -> None:
        """Let ``node`` stand at ``slot``, with the vector that it has in ``rows``."""
        self.members[slot] = node
        if self._block is not None:
            self._block[slot] = rows[node]

    def delete(self, slot: int) -> None:
        """Drop the child at ``slot``; the later ones move up."""
        size = len(self.members)
        if self._block is not None:
            self._block[slot : size - 1] = self._block[slot + 1 : size]
        del self.members[slot]
        if size - 1 < LARGE:
            self._block = None
