"""Columns: arrays that grow at their end without changing what was read of them before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, without
from treering.scratch import lent

GROWTH = 1.125  # spare room when a column must grow: few copies, and 12 % at most unused
SPARE = 1_024  # rows of room behind a column that was copied for another reason

T = TypeVar("T", bound=np.generic)


class Column(Generic[T]):
    """An array that grows at its end. What ``values`` returned earlier never changes.

    Only the end is written in place. All other changes copy, so that readers of an earlier state
    are not disturbed.
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
        """Make room for so many rows, if there is less."""
        if total > len(self._data):
            larger: NDArray[T] = lent((total,), self._data.dtype)
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
        """Give some rows other values."""
        self.replace(self.values)
        self._data[: self._size][rows] = values

    def replace(self, values: NDArray[T]) -> None:
        """Hold other values instead, which are copied."""
        data = self._room(len(values))
        data[: len(values)] = values
        self._data, self._size = data, len(values)

    def _room(self, size: int) -> NDArray[T]:
        # In memory that an earlier state has given back: new memory is cleared page by page first.
        room: NDArray[T] = lent((size + max(SPARE, size >> 6),), self._data.dtype)
        return room

    def remove(self, gone: Codes) -> None:
        """Drop some rows, given ascending; the later ones move up."""
        if len(gone):
            data, size = self._room(self._size - len(gone)), self._size - len(gone)
            without(self.values, gone, out=data[:size])
            self._data, self._size = data, size

    def truncate(self, size: int) -> None:
        """Drop the rows from one on, copying nothing. What comes next is put into new room."""
        self._data, self._size = self._data[:size], size

    def insert(self, places: Codes, values: NDArray[T]) -> None:
        """Put ``values[i]`` before what is at ``places[i]``; places ascend."""
        if len(places) and places[0] == self._size:
            self.extend(values)
        else:
            self.replace(np.insert(self.values, places, values))
