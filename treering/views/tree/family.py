"""The vectors of a tree's nodes, and the children of one node side by side."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.search.vectors import Matrix

Vector = NDArray[np.float32]
Exact = NDArray[np.int64]


class Rows:
    """One vector per node, shape (d,), by the node's number.

    A vector given to ``share`` is read from that matrix and takes no room here. The shared matrix
    must not change. A vector that is set again is held here.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._own: dict[int, Vector] = {}
        self._row: dict[int, int] = {}
        self._shared: Matrix = np.empty((0, dimension), dtype=np.float32)

    def __contains__(self, node: int) -> bool:
        return node in self._own or node in self._row

    def __getitem__(self, node: int) -> Vector:
        own = self._own.get(node)
        vector: Vector = self._shared[self._row[node]] if own is None else own
        return vector

    def __setitem__(self, node: int, vector: Vector) -> None:
        self._own[node] = np.array(vector, dtype=np.float32)
        self._row.pop(node, None)

    def __delitem__(self, node: int) -> None:
        self._own.pop(node, None)
        self._row.pop(node, None)

    def together(self, nodes: Sequence[int]) -> Vector:
        """The vectors of some nodes side by side, shape (nodes, d); a copy."""
        vectors = np.empty((len(nodes), self.dimension), dtype=np.float32)
        for place, node in enumerate(nodes):
            vectors[place] = self[node]
        return vectors

    def share(self, matrix: Matrix, row_of: Mapping[int, int]) -> None:
        """Read the vectors of nodes from rows of ``matrix`` from now on.

        Other vectors of an earlier matrix are copied, so that it can be freed.
        """
        for node in self._row.keys() - row_of.keys():
            self[node] = self._shared[self._row[node]]
        self._own = {node: vector for node, vector in self._own.items() if node not in row_of}
        self._row, self._shared = dict(row_of), matrix


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

    def nearest(self, vector: Vector, rows: Rows) -> tuple[int, float]:
        """The most similar child and its cosine; the earliest of equals."""
        similarities = self.vectors(rows) @ vector
        slot = int(similarities.argmax())
        return self.members[slot], float(similarities[slot])

    def append(self, node: int, rows: Rows) -> None:
        """Add a child, which has its vector in ``rows``, at the end."""
        slot = len(self.members)
        self.members.append(node)
        if (self._block is not None and slot == len(self._block)) or slot + 1 == LARGE:
            grown = np.empty((2 * (slot + 1), rows.dimension), dtype=np.float32)
            grown[: slot + 1] = rows.together(self.members)
            self._block = grown
        elif self._block is not None:
            self._block[slot] = rows[node]

    def replace(self, old: int, new: int, rows: Rows) -> None:
        """Put ``new``, which has its vector in ``rows``, in the place of a child."""
        self.members[self.members.index(old)] = new
        self.refresh(new, rows)

    def refresh(self, node: int, rows: Rows) -> None:
        """Read the vector of a child from ``rows`` again."""
        if self._block is not None:
            self._block[self.members.index(node)] = rows[node]

    def remove(self, node: int) -> None:
        """Drop a child; the later ones move up."""
        slot, size = self.members.index(node), len(self.members)
        if self._block is not None:
            self._block[slot : size - 1] = self._block[slot + 1 : size]
        del self.members[slot]
        if size - 1 < LARGE:
            self._block = None
