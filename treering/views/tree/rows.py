"""The vectors of a tree's nodes. Those of leaves may lie in a matrix that searches use, too."""

from __future__ import annotations

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
