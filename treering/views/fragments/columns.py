"""Columns: arrays that grow at their end without changing earlier reads."""

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
        room: NDArray[T] = lent((size + max(SPARE, size >> 6),), self._data.dtype)
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
