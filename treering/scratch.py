"""Long arrays for as long as a search takes, in memory that the next search uses again.

Of a million fragments each array of scores is 4 MB. The system's allocator gives so much back once
nothing refers to it, and has to ask for it again, page by page: a third of the time of a search.
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
"""Of an array that is worth keeping: shorter ones the allocator keeps itself."""

MOST_FREE_BYTES: Final = 96 << 20
"""What is kept while nobody uses it: enough for three searches at once of a million fragments."""

STEPS: Final = 8
"""Sizes from one power of two to the next, so that a space that grows by one fits its old rooms."""


class Pool:
    """Lends memory for arrays, and takes it back once nothing refers to one. Safe to use from many
    threads.
    """

    def __init__(self, most_free: int = MOST_FREE_BYTES) -> None:
        self._most_free = most_free
        # The operations of a deque are atomic. A lock would not do: an array may die anywhere, so
        # that memory comes back in the midst of lending.
        self._free: deque[mmap.mmap] = deque()

    def lend(self, shape: tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
        """An array with any numbers in it, whose columns are contiguous."""
        size = prod(shape)
        length = size * np.dtype(dtype).itemsize
        if length < LEAST_BYTES:
            return np.empty(shape, dtype=dtype, order="F")
        room = self._taken(_rounded(length))
        array: NDArray[Any] = np.frombuffer(room, dtype=dtype, count=size)
        # Views of an array refer to it, not to its memory: when it dies, nobody sees that any more.
        returns = weakref.finalize(array, self._take_back, room)
        returns.atexit = False
        return array.reshape(shape, order="F")

    def free_bytes(self) -> int:
        """What is kept while nobody uses it."""
        return sum(map(len, tuple(self._free)))

    def clear(self) -> None:
        """Give the system what nobody uses."""
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


def _rounded(length: int) -> int:
    """A length of at least so many bytes, of which there are ``STEPS`` up to its double."""
    step = 1 << (length.bit_length() - 1) >> (STEPS.bit_length() - 1)
    return -(-length // step) * step


POOL: Final = Pool()
"""That of the process: searches of all spaces take turns with it."""


def lent(shape: tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
    """An array from the pool of the process; see ``Pool.lend``."""
    return POOL.lend(shape, dtype)
