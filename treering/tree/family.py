"""The children of one node, their vectors side by side so that one product compares them all."""

from __future__ import annotations

from array import array
from typing import Final

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Exact = NDArray[np.int64]

FIRST_CAPACITY: Final = 2
"""A family is born when a leaf is expanded, with two children; most never grow further."""

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
    """Children in order of arrival, with their routing vectors in one growing block.

    ``leaves`` counts the leaves below the parent, ``total`` is the exact sum of their vectors,
    ``newest`` the highest number one of them ever had.
    """

    __slots__ = ("_vectors", "leaves", "members", "newest", "total")

    def __init__(self, dimension: int, capacity: int = FIRST_CAPACITY) -> None:
        self.members = array("q")
        self.leaves = 0
        self.newest = 0
        self.total: Exact = np.zeros(dimension, dtype=np.int64)
        self._vectors = np.empty((max(capacity, 1), dimension), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def vectors(self) -> Vector:
        """The children's routing vectors, shape (children, d); a view."""
        return self._vectors[: len(self.members)]

    def nearest(self, vector: Vector) -> tuple[int, float]:
        """Slot and cosine of the most similar child; the earliest of equals."""
        similarities = self.vectors @ vector
        slot = int(similarities.argmax())
        return slot, float(similarities[slot])

    def append(self, node: int, vector: Vector) -> int:
        """Add a child at the end; returns its slot."""
        slot = len(self.members)
        if slot == len(self._vectors):
            grown = np.empty((2 * slot, self._vectors.shape[1]), dtype=np.float32)
            grown[:slot] = self._vectors
            self._vectors = grown
        self._vectors[slot] = vector
        self.members.append(node)
        return slot

    def put(self, slot: int, node: int, vector: Vector) -> None:
        """Let ``node`` take the place of the child at ``slot``."""
        self.members[slot] = node
        self._vectors[slot] = vector

    def delete(self, slot: int) -> None:
        """Drop the child at ``slot``; the later ones move up."""
        size = len(self.members)
        self._vectors[slot : size - 1] = self._vectors[slot + 1 : size]
        del self.members[slot]
