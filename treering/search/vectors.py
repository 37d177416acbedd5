"""The vectors of a space: blocks of rows that one state of it shares with the next.

A change makes new blocks for the rows it touches. Rows are float32, or whole numbers of eight bits
with a scale a row (``treering.arrays``), which take a quarter of the memory and time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from treering.arrays import (
    LARGEST,
    Bytes,
    Codes,
    Floats,
    borrow_array,
    for_each,
    product,
    quantise_rows,
    restore_rows,
    union,
    without,
)

BLOCK_BYTES = 2 << 20
"""Of one block, one large page: a row that goes or comes late has so much copied."""

CONVERTED_ROWS = 512  # rows made floats at a time: they stay in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Rows side by side: eight-bit codes with a scale a row, or floats, whose scale is None."""

    rows: NDArray[Any]
    scale: Floats | None

    def __len__(self) -> int:
        return len(self.rows)

    def floats(self, which: Any = slice(None)) -> Floats:
        """Return some of the rows as float32."""
        rows: NDArray[Any] = self.rows[which]
        if self.scale is None:
            return rows
        return restore_rows(rows, self.scale[which])

    def between(self, start: int, stop: int) -> Block:
        """Return some rows that follow each other, as a view."""
        scale = None if self.scale is None else self.scale[start:stop]
        return Block(self.rows[start:stop], scale)

    def without(self, gone: Codes, room: Block) -> Block:
        """Return this block without some rows, which ascend, in the first rows of ``room``."""
        left = room.between(0, len(self) - len(gone))
        without(self.rows, gone, out=left.rows)
        if self.scale is not None:
            without(self.scale, gone, out=left.scale)
        return left

    def replace_rows(self, places: Codes | slice, vectors: Block) -> Block:
        """Return this block with other vectors at some places."""
        scale = None if self.scale is None else self.scale.copy()
        block = Block(self.rows.copy(), scale)
        block.put(places, vectors)
        return block

    def put(self, places: Codes | slice, vectors: Block) -> None:
        """Write vectors at some places of a block that is not in use yet."""
        if self.scale is None:
            self.rows[places] = vectors.floats()
        elif vectors.scale is None:
            self.rows[places], self.scale[places] = quantise_rows(vectors.rows)
        else:
            self.rows[places], self.scale[places] = vectors.rows, vectors.scale


class VectorBlocks:
    """A matrix of shape (N, d) in blocks. Immutable."""

    def __init__(self, blocks: Sequence[Block], width: int) -> None:
        self.blocks = tuple(blocks)
        self._starts: list[int] = np.cumsum([0, *map(len, blocks)]).tolist()
        self.shape = (self._starts[-1], width)

    @property
    def is_exact(self) -> bool:
        """Whether its rows are floats as they were embedded."""
        return all(block.scale is None for block in self.blocks)

    def __len__(self) -> int:
        return int(self.shape[0])

    def with_rows(self, vectors: Floats) -> VectorBlocks:
        """Return this matrix with more rows at its end."""
        added = Block(vectors, None) if self.is_exact else Block(*quantise_rows(vectors))
        return VectorBlocks([*self.blocks, added], self.shape[1])

    def spans(self) -> Iterator[tuple[Block, slice]]:
        """Yield every block with its rows."""
        for block, (start, stop) in zip(self.blocks, pairwise(self._starts), strict=True):
            yield block, slice(start, stop)

    def __getitem__(self, rows: Any) -> Floats:
        """One row, or those of a slice or of an array of row numbers, as float32."""
        if isinstance(rows, slice):
            return self._some(np.arange(*rows.indices(len(self))))
        if isinstance(rows, np.ndarray) and rows.ndim:
            return self._some(np.flatnonzero(rows) if rows.dtype == np.bool_ else rows)
        row = range(len(self))[int(rows)]
        which = bisect_right(self._starts, row) - 1
        return self.blocks[which].floats(row - self._starts[which])

    def _some(self, rows: Codes) -> Floats:
        result = np.empty((len(rows), self.shape[1]), dtype=np.float32)
        which = np.searchsorted(self._starts, rows, side="right") - 1
        for number in union(which).tolist():
            at = np.flatnonzero(which == number)
            result[at] = self.blocks[number].floats(rows[at] - self._starts[number])
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole = np.empty(self.shape, dtype=np.float32)
        for block, where in self.spans():
            whole[where] = block.floats()
        return whole if dtype is None else whole.astype(dtype)

    def cosines(self, query: Floats) -> Floats:
        """Return the products with a vector, which is rounded to eight bits if the rows are."""
        result: Floats = borrow_array((len(self),))
        spans = list(self.spans())
        [code], [scale] = quantise_rows(query[None])

        def work(at: int) -> None:
            block, where = spans[at]
            if block.scale is None:
                product(block.rows, query, out=result[where])
            else:
                np.multiply(
                    whole_products(block.rows, code), scale, out=result[where], casting="same_kind"
                )
                result[where] *= block.scale

        for_each(work, len(spans), 0 if self.is_exact else len(self))
        return result

    def project(self, scores: Floats) -> Floats:
        """Return ``self.T @ scores``; codes become floats a few rows at a time."""
        spans = list(self.spans())
        sums = np.zeros((len(spans), self.shape[1]), dtype=np.float32)

        def work(at: int) -> None:
            block, where = spans[at]
            if block.scale is None:
                product(block.rows.T, scores[where], out=sums[at])
                return
            weights, size = scores[where] * block.scale, len(block)
            room = np.empty((min(CONVERTED_ROWS, size), self.shape[1]), dtype=np.float32)
            for start in range(0, size, CONVERTED_ROWS):
                part = slice(start, min(start + CONVERTED_ROWS, size))
                converted = room[: part.stop - start]
                # numpy has no fast loop for it
                _numkong().astype(block.rows[part], "f32", out=converted)
                sums[at] += product(converted.T, weights[part])

        for_each(work, len(spans), len(self))
        total: Floats = sums.sum(axis=0, dtype=np.float64).astype(np.float32)
        return total


@cache
def _numkong() -> ModuleType:
    import numkong  # here, as it is over 40 MB on Linux, and small spaces do not need it

    return numkong


def whole_products(rows: Bytes, other: Bytes) -> NDArray[Any]:
    """Return ``rows @ other`` of eight-bit rows as exact whole numbers."""
    if not len(rows):
        return np.zeros(0, dtype=np.float32)
    # Float32 is exact for so small whole numbers.
    is_small = rows.shape[1] * LARGEST**2 < 1 << 24
    out_dtype: Literal["float32", "float64"] = "float32" if is_small else "float64"
    products = np.asarray(_numkong().cdist(rows, other[None], "dot", out_dtype=out_dtype))
    return products[:, 0]


def power_sums(values: Floats) -> tuple[float, float]:
    """Return the sum of some values, shape (N,), and of their squares, in 64 bits."""
    total, squares = _numkong().moments(np.ascontiguousarray(values))
    return float(total), float(squares)


class Matrix(Protocol):
    """The vectors of items, with an array's rows.

    ``np.asarray`` turns a matrix into an array, without a copy if it is one.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


def cosines(vectors: Matrix, query: Floats) -> Floats:
    """Return ``vectors @ query`` for unit rows."""
    if isinstance(vectors, VectorBlocks):
        return vectors.cosines(query)
    return product(np.asarray(vectors), query)


def project(vectors: Matrix, scores: Floats) -> Floats:
    """Return ``vectors.T @ scores``."""
    if isinstance(vectors, VectorBlocks):
        return vectors.project(scores)
    return product(np.asarray(vectors).T, scores)
