"""Long arrays for the time of a search, in memory that the next search uses again.

An array of scores of a million fragments takes 4 MB. The allocator returns so much memory to the
system once the array dies, and asks for it again page by page: a third of the time of a search.
"""

from __future__ import annotations

import mmap
import weakref
from collections import deque
from contextlib import suppress
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import room_of

LEAST_BYTES: Final = 1 << 18
"""The smallest array to keep: the allocator keeps shorter ones itself."""

MOST_FREE_BYTES: Final = 96 << 20
"""The most unused memory: enough for three concurrent searches of a million fragments."""

STEPS: Final = 8
"""Sizes from one power of two to the next, so that a space that grows by one reuses its arrays."""


class Pool:
    """Lends memory for arrays, and takes it back when they die. Safe to use from many threads."""

    def __init__(self, most_free: int = MOST_FREE_BYTES) -> None:
        self._most_free = most_free
        # The operations of a deque are atomic. A lock would deadlock, because an array may die
        # while its thread borrows another one.
        self._free: deque[mmap.mmap] = deque()

    def lend(self, shape: tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
        """Return an array with undefined content, whose columns are contiguous."""
        size = prod(shape)
        length = size * np.dtype(dtype).itemsize
        if length < LEAST_BYTES:
            return np.empty(shape, dtype=dtype, order="F")
        room = self._taken(_round_up(length))
        array: NDArray[Any] = np.frombuffer(room, dtype=dtype, count=size)
        # Views of an array refer to the array, so its memory is unused once the array dies.
        returns = weakref.finalize(array, self._take_back, room)
        returns.atexit = False
        return array.reshape(shape, order="F")

    def free_bytes(self) -> int:
        """Return the bytes of unused memory."""
        return sum(map(len, tuple(self._free)))

    def clear(self) -> None:
        """Return unused memory to the system."""
        self._free.clear()

    def _taken(self, length: int) -> mmap.mmap:
        with suppress(IndexError):  # another thread took the last one
            for _ in range(len(self._free)):
                room = self._free.pop()
                if len(room) == length:
                    return room
                self._free.appendleft(room)
        return room_of(length)

    def _take_back(self, room: mmap.mmap) -> None:
        self._free.append(room)
        with suppress(IndexError):
            while self.free_bytes() > self._most_free:
                self._free.popleft()  # those not used for the longest time


def _round_up(length: int) -> int:
    """Round a length up to one of ``STEPS`` lengths per power of two."""
    step = 1 << (length.bit_length() - 1) >> (STEPS.bit_length() - 1)
    return -(-length // step) * step


POOL: Final = Pool()
"""The pool of this process, for searches of all spaces."""


def lent(shape: tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
    """An array from the pool of the process; see ``Pool.lend``."""
    return POOL.lend(shape, dtype)
