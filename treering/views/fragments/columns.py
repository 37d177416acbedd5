"""Columns that grow at their end without changing earlier reads, and blocks of vectors.

A change of vectors copies only the blocks that it touches. A process may open thousands of spaces:
the columns of each are loaded by its first search, and may go at any time between two, as the
process has room for some only. The next search loads them again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from treering import forks
from treering.arrays import Codes, borrow_array, without, zeros_in_large_pages
from treering.errors import InputError
from treering.journal.blocks import Postings, Rows
from treering.records import KINDS
from treering.search.postings import PostingRun
from treering.search.vectors import BLOCK_BYTES, Block, VectorBlocks

if TYPE_CHECKING:
    from treering.views.fragments.table import Table

GROWTH = 1.125  # spare room when a column must grow: few copies, and 12 % at most unused
SPARE = 1_024  # rows of room behind a column that was copied for another reason

T = TypeVar("T", bound=np.generic)


class Column(Generic[T]):
    """An array that grows at its end. Arrays that ``values`` returned earlier never change.

    Only the end is written in place. All other changes copy.
    """

    def __init__(self, dtype: type[T]) -> None:
        self._data: NDArray[T] = np.zeros(0, dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[T]:
        """The filled part; a view."""
        return self._data[: self._size]

    def reserve(self, total: int) -> None:
        """Make room for ``total`` rows."""
        if total > len(self._data):
            larger: NDArray[T] = borrow_array((total,), self._data.dtype)
            larger[: self._size] = self.values
            self._data = larger

    def extend(self, rows: NDArray[Any] | Sequence[Any]) -> None:
        """Append rows."""
        total = self._size + len(rows)
        if total > len(self._data):
            self.reserve(max(total, int(self._size * GROWTH)))
        self._data[self._size : total] = rows
        self._size = total

    def set(self, rows: Any, values: Any) -> None:
        """Set the values of some rows."""
        self.replace(self.values)
        self._data[: self._size][rows] = values

    def replace(self, values: NDArray[T]) -> None:
        """Replace all values by a copy of others."""
        data = self._room(len(values))
        data[: len(values)] = values
        self._data, self._size = data, len(values)

    def _room(self, size: int) -> NDArray[T]:
        # Memory of an earlier state is used again: the system clears new memory page by page.
        room: NDArray[T] = borrow_array((size + max(SPARE, size >> 6),), self._data.dtype)
        return room

    def remove(self, gone: Codes) -> None:
        """Drop some rows, given ascending; the later ones move up."""
        if len(gone):
            data, size = self._room(self._size - len(gone)), self._size - len(gone)
            without(self.values, gone, out=data[:size])
            self._data, self._size = data, size

    def truncate(self, size: int) -> None:
        """Drop the rows from ``size`` on, copying nothing. Later rows go into new room."""
        self._data, self._size = self._data[:size], size

    def insert(self, places: Codes, values: NDArray[T]) -> None:
        """Insert ``values[i]`` before the row at ``places[i]``; places ascend."""
        if len(places) and places[0] == self._size:
            self.extend(values)
        else:
            self.replace(np.insert(self.values, places, values))


class VectorRows:
    """Vectors of rows that are added and removed. ``matrix`` gives their present state."""

    def __init__(self, width: int, exact: bool, block_bytes: int = BLOCK_BYTES) -> None:
        self.width = width
        self.exact = exact
        self._dtype = np.float32 if exact else np.int8
        self._capacity = max(block_bytes // (max(width, 1) * np.dtype(self._dtype).itemsize), 1)
        self._blocks: list[Block] = []
        self._tail = self._empty(0)  # the room of the last block, filled from the start
        self._free = 0  # rows of it that are left
        self._shown = 0  # rows that readers may have seen
        self._starts_held: Codes | None = None

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    @property
    def is_shown(self) -> bool:
        """Whether readers may have seen some rows."""
        return self._shown > 0

    def matrix(self) -> VectorBlocks:
        """The vectors as they are now."""
        self._shown = len(self)
        return VectorBlocks(self._blocks, self.width)

    def extend(self, size: int) -> None:
        """Append rows of zeros; ``place`` sets their vectors."""
        self._starts_held = None
        while size:
            if not self._free:
                self._tail = self._empty()  # of zeros; nothing is written behind what is filled
                self._blocks.append(self._cut(self._tail, 0))
                self._free = self._capacity
            more = min(self._free, size)
            self._blocks[-1] = self._cut(self._tail, len(self._blocks[-1]) + more)
            self._free -= more
            size -= more

    def quantise(self) -> VectorRows:
        """The same vectors in eight bits."""
        rows = VectorRows(self.width, exact=False)
        for block in self._blocks:
            first = len(rows)
            rows.extend(len(block))
            rows.place(np.arange(first, len(rows)), block)
        return rows

    def place(self, rows: Codes, vectors: Block) -> None:
        """Set the vectors of rows, which ascend.

        Rows that no reader has seen are written in place, by two threads at a time for different
        rows.
        """
        for number, first, (low, high) in self._blocks_of(rows):
            block, places = self._blocks[number], _places(rows[low:high] - first)
            if rows[low] >= self._shown:
                block.put(places, vectors.between(low, high))
            else:
                self._replace(number, block.replace_rows(places, vectors.between(low, high)))

    def remove(self, gone: Codes) -> None:
        """Drop some rows, given ascending; the later ones move up."""
        self._shown -= int(np.searchsorted(gone, self._shown))
        for number, first, (low, high) in self._blocks_of(gone):
            block, is_last = self._blocks[number], number == len(self._blocks) - 1
            left = len(block) - (high - low)
            room = self._empty(None if is_last else left)
            self._blocks[number] = block.without(gone[low:high] - first, room)
            if is_last:
                self._tail, self._free = room, self._capacity - left
        self._join()
        self._starts_held = None

    def _blocks_of(self, rows: Codes) -> list[tuple[int, int, tuple[int, int]]]:
        """The blocks of some rows: number, first row, and the bounds of their part of ``rows``."""
        starts = self._starts()
        bounds = pairwise(np.searchsorted(rows, starts).tolist())
        return [
            (number, int(starts[number]), (low, high))
            for number, (low, high) in enumerate(bounds)
            if high > low
        ]

    def _starts(self) -> Codes:
        """The first row of each block, and the end."""
        if self._starts_held is None:
            sizes = [len(block) for block in self._blocks]
            self._starts_held = np.cumsum([0, *sizes], dtype=np.int64)
        return self._starts_held

    def _replace(self, number: int, block: Block) -> None:
        if number == len(self._blocks) - 1:
            block = self._move(block)
        self._blocks[number] = block

    def _move(self, block: Block) -> Block:
        """Copy the last block to new room: readers of earlier states use the old one."""
        self._tail = self._empty()
        self._tail.rows[: len(block)] = block.rows
        if self._tail.scale is not None and block.scale is not None:
            self._tail.scale[: len(block)] = block.scale
        self._free = self._capacity - len(block)
        return self._cut(self._tail, len(block))

    def _join(self) -> None:
        """Drop empty blocks, and join two neighbours that fill at most half a block."""
        blocks: list[Block] = []
        for block in self._blocks:
            if blocks and len(blocks[-1]) + len(block) <= self._capacity // 2:
                block = _join_blocks(blocks.pop(), block)
            blocks.append(block)
        if blocks != self._blocks:
            self._blocks = blocks
            if blocks:
                self._blocks[-1] = self._move(blocks[-1])

    def _empty(self, size: int | None = None) -> Block:
        shape = (self._capacity if size is None else size, self.width)
        scale = None if self.exact else np.zeros(shape[0], dtype=np.float32)
        # A process may hold thousands of small spaces, which must not take whole pages.
        zeros = zeros_in_large_pages if len(self._blocks) > 1 else np.zeros
        return Block(zeros(shape, dtype=self._dtype), scale)

    @staticmethod
    def _cut(room: Block, size: int) -> Block:
        return Block(room.rows[:size], None if room.scale is None else room.scale[:size])


def _places(places: Codes) -> Codes | slice:
    """Places that ascend, as a slice where they are consecutive: that halves the time."""
    first, stop = int(places[0]), int(places[-1]) + 1
    return slice(first, stop) if stop - first == len(places) else places


def _join_blocks(first: Block, second: Block) -> Block:
    rows = np.concatenate([first.rows, second.rows])
    if first.scale is None or second.scale is None:
        return Block(rows, None)
    return Block(rows, np.concatenate([first.scale, second.scale]))


@dataclass(frozen=True, slots=True)
class EmbeddedRows:
    """Vectors of fragments, up to and with the one at ``mark``.

    ``fragment`` are the ids, ``number`` the numbers of the vectors in the database (0 for zeros),
    and ``vectors`` the rows, as floats or in eight bits.
    """

    mark: int
    fragment: Codes
    number: Codes
    vectors: Block


def living_rows(
    first: int, rows: Rows, postings: Postings, is_sorted: bool
) -> tuple[Rows, PostingRun]:
    """A block's rows from the slot ``first`` on without erased ones, and the terms of each.

    Raises ValueError, or an error of numpy, for damaged rows.
    """
    living = rows["fragment"] > 0
    slots = postings["slot"].astype(np.int32)
    if first:
        slots -= np.int32(first)
    if living.all():
        if len(slots) and slots.max() >= len(rows):
            raise ValueError("terms of no fragment")
    else:
        number = np.cumsum(living, dtype=np.int32) - np.int32(1)
        if not living[slots].all():
            raise ValueError("terms of no fragment")
        rows, slots = rows[living], number[slots]
    _check_rows(rows)
    terms, counts = postings["term"].copy(), postings["count"].copy()
    run = (PostingRun.in_order if is_sorted else PostingRun.from_unsorted)(terms, slots, counts)
    return rows, run


def _check_rows(rows: Rows) -> None:
    fragment, kind = rows["fragment"], rows["kind"]
    if (fragment[1:] <= fragment[:-1]).any():
        raise ValueError("fragments in no order")
    for name in ("source", "position"):
        # One pass over the bits of all is faster than two for the least and the largest.
        if not 0 <= int(np.bitwise_or.reduce(rows[name])) < 1 << 31:
            raise ValueError("too large a number")
    if len(kind) and not (kind.min() >= 0 and kind.max() < len(KINDS)):
        raise ValueError("no kind")


LIMIT_VARIABLE: Final = "TREERING_MAX_FRAGMENTS"
"""The environment variable that limits how many fragments a process holds; no limit without it."""


class Room:
    """Bounds the fragments in memory; ``most`` is None for the limit of the environment, if any.

    When the tables in use take too much, those that were not used for longest are released.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._lock = threading.Lock()  # protects the other attributes
        self._uses = count()
        self._sizes: WeakKeyDictionary[Table, tuple[int, int]] = WeakKeyDictionary()

    @property
    def size(self) -> int:
        """The number of fragments in memory."""
        with self._lock:
            return sum(size for _, size in self._sizes.values())

    def use(self, table: Table, size: int) -> None:
        """Note that a table of so many fragments is in use; it stays, even if it is too large."""
        with self._lock:
            self._sizes[table] = next(self._uses), size
            most = read_limit() if self.most is None else self.most
            gone = self._oldest(table, most) if most is not None else []
            for other in gone:
                del self._sizes[other]
        for other in gone:
            other.release()

    def _oldest(self, used: Table, most: int) -> list[Table]:
        total = sum(size for _, size in self._sizes.values())
        gone: list[Table] = []
        for other, (_, size) in sorted(self._sizes.items(), key=lambda pair: pair[1]):
            if total <= most:
                break
            if other is not used:
                gone.append(other)
                total -= size
        return gone


ROOM: Final = Room()
"""The room of this process."""


def _unlock() -> None:
    ROOM._lock = threading.Lock()  # another thread of the parent may have had it


forks.call_in_child(_unlock)


def read_limit() -> int | None:
    """The limit that the environment sets. Raises InputError."""
    given = os.environ.get(LIMIT_VARIABLE)
    if not given:
        return None
    if not (given.isascii() and given.isdecimal()):
        raise InputError(f"{LIMIT_VARIABLE} is {given!r}; give a whole number of fragments")
    return int(given)
