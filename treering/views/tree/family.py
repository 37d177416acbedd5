"""The vectors of a tree's nodes, and the children of one node side by side."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.search.relations.contract import Matrix

Vector = NDArray[np.float32]
Ints = NDArray[np.int64]

BLOCK: Final = 1024
"""Rows allocated at a time: growing copies nothing, so that no insert waits for it."""

NONE: Final = -1
SHARED: Final = -2  # row r of the shared matrix is written SHARED - r


class Rows:
    """One vector per node, shape (d,), by the node's number.

    A vector given to ``share`` is read from that matrix and takes no room here. The shared matrix
    is only read, and its rows must not change. A vector that is set again gets a row of its own.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._row: Ints = np.full(BLOCK, NONE, dtype=np.int64)
        self._blocks: list[Vector] = []
        self._free: list[int] = []
        self._shared: Matrix = np.empty((0, dimension), dtype=np.float32)

    @classmethod
    def of(cls, dimension: int, vectors: Mapping[int, Vector]) -> Rows:
        """Rows of these vectors."""
        rows = cls(dimension)
        for node, vector in vectors.items():
            rows[node] = vector
        return rows

    @property
    def own(self) -> int:
        """How many vectors take room here."""
        return BLOCK * len(self._blocks) - len(self._free)

    @property
    def shared(self) -> Matrix:
        """The shared matrix; empty if there is none."""
        return self._shared

    def __contains__(self, node: int) -> bool:
        return node < len(self._row) and self._row[node] != NONE

    def __getitem__(self, node: int) -> Vector:
        """A view, valid until the node's vector is set or dropped."""
        row = int(self._row[node])
        vector: Vector = (
            self._shared[SHARED - row] if row <= SHARED else self._blocks[row // BLOCK][row % BLOCK]
        )
        return vector

    def __setitem__(self, node: int, vector: Vector) -> None:
        self._reserve(node + 1)
        row = int(self._row[node])
        if row < 0:
            row = self._row[node] = self._allocated()
        self._blocks[row // BLOCK][row % BLOCK] = vector

    def __delitem__(self, node: int) -> None:
        row = int(self._row[node])
        if row >= 0:
            self._free.append(row)
        self._row[node] = NONE

    def together(self, nodes: Sequence[int]) -> Vector:
        """The vectors of some nodes side by side, shape (nodes, d); a copy."""
        vectors = np.empty((len(nodes), self.dimension), dtype=np.float32)
        for place, node in enumerate(nodes):
            vectors[place] = self[node]
        return vectors

    def share(self, matrix: Matrix, nodes: Ints, rows: Ints) -> None:
        """Read the vectors of ``nodes``, distinct, from ``rows`` of ``matrix`` from now on.

        Other nodes that are read from an earlier shared matrix get rows of their own, so that the
        earlier matrix can be freed.
        """
        self._reserve(int(nodes.max(initial=0)) + 1)
        left = np.setdiff1d(np.flatnonzero(self._row <= SHARED), nodes)
        vectors = self.together(left.tolist())
        held = self._row[nodes]
        self._free.extend(held[held >= 0].tolist())
        self._row[left] = NONE
        self._row[nodes] = SHARED - rows
        self._shared = matrix
        for node, vector in zip(left.tolist(), vectors, strict=True):
            self[node] = vector
        if len(self._free) > BLOCK * len(self._blocks) // 2:
            self._compact()

    def _compact(self) -> None:
        """Give back the blocks that are not needed."""
        nodes = np.flatnonzero(self._row >= 0)
        rows, blocks = self._row[nodes].tolist(), self._blocks
        self._row[nodes], self._blocks, self._free = NONE, [], []
        for node, row in zip(nodes.tolist(), rows, strict=True):
            self[node] = blocks[row // BLOCK][row % BLOCK]

    def _reserve(self, size: int) -> None:
        if size > len(self._row):
            more = np.full(max(size, 2 * len(self._row)) - len(self._row), NONE, dtype=np.int64)
            self._row = np.concatenate([self._row, more])

    def _allocated(self) -> int:
        if not self._free:
            start = BLOCK * len(self._blocks)
            self._blocks.append(np.empty((BLOCK, self.dimension), dtype=np.float32))
            self._free.extend(range(start + BLOCK - 1, start - 1, -1))
        return self._free.pop()


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
        """Slot and cosine of the most similar child; the earliest of equals."""
        similarities = self.vectors(rows) @ vector
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
