"""The vectors of a space: blocks of rows that one state of it shares with the next.

A change makes new blocks for the rows it touches. Rows are float32, or whole numbers of eight bits
with a scale a row (``treering.embed.quantised``), which take a quarter of the memory and time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from types import ModuleType
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, union, without
from treering.embed.quantised import LARGEST, Bytes, quantised, restored
from treering.parallel import for_each
from treering.scratch import lent

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
        return restored(rows, self.scale[which])

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
            self.rows[places], self.scale[places] = quantised(vectors.rows)
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
        added = Block(vectors, None) if self.is_exact else Block(*quantised(vectors))
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

    def __matmul__(self, other: Floats) -> Floats:
        """Return the product with a vector, shape (d,), or some side by side, shape (d, Q)."""
        columns = self.products((other if other.ndim == 2 else other[:, None]).T, fine=True)
        return columns if other.ndim == 2 else columns[:, 0]

    def cosines(self, queries: Floats) -> Floats:
        """``self @ queries.T``, shape (N, Q), a query's column contiguous."""
        return self.products(queries)

    def products(self, queries: Floats, fine: bool = False) -> Floats:
        """Return the products with rows of shape (Q, d): (N, Q), a query's column contiguous.

        If this matrix has eight bits, queries are rounded to eight bits, with ``fine`` to sixteen.
        """
        result = lent((len(self), len(queries)))
        spans = list(self.spans())
        if self.is_exact:
            multiply = partial(_floats, queries=queries)
        else:
            multiply = partial(_eight_bits, digits=_digits(queries, fine))

        def work(at: int) -> None:
            block, where = spans[at]
            multiply(block, out=result[where])

        for_each(work, len(spans), 0 if self.is_exact else len(self))
        return result

    def project(self, scores: Floats) -> Floats:
        """Return ``self.T @ scores`` for scores of shape (N,) or (N, Q): (d,) or (d, Q)."""
        columns = scores if scores.ndim == 2 else scores[:, None]
        spans = list(self.spans())
        sums = np.zeros((len(spans), self.shape[1], columns.shape[1]), dtype=np.float32)

        def work(at: int) -> None:
            block, where = spans[at]
            _project(block, columns[where], sums[at])

        for_each(work, len(spans), len(self))
        total: Floats = sums.sum(axis=0, dtype=np.float64).astype(np.float32)
        return total if scores.ndim == 2 else total[:, 0]


def _project(block: Block, scores: Floats, out: Floats) -> None:
    """Write ``block.T @ scores``; codes become floats a few rows at a time."""
    if block.scale is None:
        np.dot(block.rows.T, scores, out=out)
        return
    weights, size = scores * block.scale[:, None], len(block)
    room = np.empty((min(CONVERTED_ROWS, size), block.rows.shape[1]), dtype=np.float32)
    for start in range(0, size, CONVERTED_ROWS):
        part = slice(start, min(start + CONVERTED_ROWS, size))
        converted = room[: part.stop - start]
        _numkong().astype(block.rows[part], "f32", out=converted)  # numpy has no fast loop for it
        out += converted.T @ weights[part]


def _floats(block: Block, out: Floats, queries: Floats) -> None:
    for column, query in zip(out.T, queries, strict=True):
        np.dot(block.rows, query, out=column)


Digit = tuple[Bytes, Floats]
"""Codes of some queries, shape (Q, d), and their scales."""


def _digits(queries: Floats, fine: bool) -> list[Digit]:
    """Return queries as rows of eight bits, with ``fine`` also the remainders in eight bits."""
    codes, scale = quantised(queries)
    if not fine:
        return [(codes, scale)]
    return [(codes, scale), quantised(queries - restored(codes, scale))]


def _eight_bits(block: Block, out: Floats, digits: Sequence[Digit]) -> None:
    codes = np.concatenate([codes for codes, _ in digits])
    scales = np.concatenate([scale for _, scale in digits])
    products = whole_products(block.rows, codes)
    for place in range(out.shape[1]):
        column = out[:, place]
        np.multiply(products[:, place], scales[place], out=column, casting="same_kind")
        for at in range(place + out.shape[1], len(codes), out.shape[1]):
            column += products[:, at] * scales[at]
        if block.scale is not None:
            column *= block.scale


@cache
def _numkong() -> ModuleType:
    import numkong  # here, as it is over 40 MB on Linux, and small spaces do not need it

    return numkong


def whole_products(rows: Bytes, others: Bytes) -> NDArray[Any]:
    """Return ``rows @ others.T`` of eight-bit rows, shape (n, m), as exact whole numbers."""
    numkong = _numkong()
    if not len(rows):
        return np.zeros((0, len(others)), dtype=np.int32)
    if len(others) == 1:
        # Faster than the packed product for one; float32 is exact for so small whole numbers.
        is_small = rows.shape[1] * LARGEST**2 < 1 << 24
        out_dtype: Literal["float32", "float64"] = "float32" if is_small else "float64"
        return np.asarray(numkong.cdist(rows, others, "dot", out_dtype=out_dtype))
    return np.asarray(numkong.dots_packed(rows, numkong.dots_pack(others)))


def power_sums(values: Floats) -> tuple[float, float]:
    """Return the sum of some values, shape (N,), and of their squares, in 64 bits."""
    total, squares = _numkong().moments(np.ascontiguousarray(values))
    return float(total), float(squares)


class Matrix(Protocol):
    """The vectors of items, with an array's products and rows.

    ``np.asarray`` turns a matrix into an array, without a copy if it is one.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...

    def __matmul__(self, other: Any, /) -> Any: ...


@runtime_checkable
class SearchedMatrix(Matrix, Protocol):
    """A matrix that has a product of its own with the vectors of queries."""

    def cosines(self, queries: Floats) -> Floats:
        """``self @ queries.T`` for unit rows, shape (N, Q), a query's column contiguous."""
        ...


@runtime_checkable
class ProjectedMatrix(Matrix, Protocol):
    """A matrix whose transpose has a product of its own."""

    def project(self, scores: Floats) -> Floats:
        """``self.T @ scores`` for scores of shape (N,) or (N, Q): (d,) or (d, Q)."""
        ...


def cosines(vectors: Matrix, queries: Floats) -> Floats:
    """``vectors @ queries.T`` for unit rows, shape (N, Q), a query's column contiguous.

    A search reads column by column; the plain product would lay out rows.
    """
    if isinstance(vectors, SearchedMatrix):
        return vectors.cosines(queries)
    # Stored vectors are finite: a warning is about memory behind a short row that BLAS ignores.
    with np.errstate(invalid="ignore"):
        likeness: Floats = (queries @ np.asarray(vectors).T).T
    return likeness
