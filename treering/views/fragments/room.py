"""The room that the columns of all spaces of a process may take.

A process may open thousands of spaces. Their columns are loaded by the first search, and may go at
any time between two: the next search loads them again.
"""

from __future__ import annotations

import os
import threading
from itertools import count
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from treering import forks
from treering.errors import InputError

if TYPE_CHECKING:
    from treering.views.fragments.table import Table

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
