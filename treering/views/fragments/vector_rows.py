"""The vectors of the table, in blocks: a change copies only the blocks that it touches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from treering.arrays import Codes, zeros_in_large_pages
from treering.search.vectors import BLOCK_BYTES, Block, VectorBlocks


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
                self._replace(number, block.placed(places, vectors.between(low, high)))

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
