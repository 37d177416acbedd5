"""Columns of many spaces: those that were not used for longest go when others need the room.

A process may open thousands of spaces. What a space takes is its columns; they are loaded by the
first search, and may go at any time between two: the next search loads them again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Final
from weakref import WeakKeyDictionary

from treering import forks
from treering.arrays import Codes, Floats
from treering.errors import InputError
from treering.journal.space import EmbeddingModel, Space, SpaceReader
from treering.records import Progress
from treering.search.snapshot import Snapshot
from treering.search.terms import Terms
from treering.split import Span
from treering.views.fragments.table import Table

LIMIT_VARIABLE: Final = "TREERING_MAX_FRAGMENTS"
"""The environment variable that limits how many fragments a process holds; no limit without it."""


class Room:
    """How many fragments the tables of a process hold together; ``most`` is None for no limit."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._begin()
        forks.renew_in_child(self, Room._begin)

    def _begin(self) -> None:
        self._lock = threading.Lock()  # protects what follows
        self._uses = count()
        self._held: WeakKeyDictionary[HeldTable, tuple[int, int]] = WeakKeyDictionary()

    @property
    def held(self) -> int:
        """Fragments that are held now."""
        with self._lock:
            return sum(size for _, size in self._held.values())

    def used(self, table: HeldTable, size: int) -> None:
        """Note that a table with so many fragments is in use, and let others go if it is too much.

        The one that is in use stays, even if it is too large alone.
        """
        with self._lock:
            self._held[table] = next(self._uses), size
            most = read_limit() if self.most is None else self.most
            gone = self._oldest(table, most) if most is not None else []
            for other in gone:
                del self._held[other]
        for other in gone:
            other.release()

    def _oldest(self, used: HeldTable, most: int) -> list[HeldTable]:
        total = sum(size for _, size in self._held.values())
        gone: list[HeldTable] = []
        for other, (_, size) in sorted(self._held.items(), key=lambda pair: pair[1]):
            if total <= most:
                break
            if other is not used:
                gone.append(other)
                total -= size
        return gone


ROOM: Final = Room()
"""That of this process."""


class HeldTable:
    """The columns of a space, as ``Table`` has them, as long as there is room for them."""

    def __init__(self, space: Space, room: Room = ROOM, *, exact: bool = False) -> None:
        self._space = space
        self._room = room
        self._exact = exact
        self._table: Table | None = None

    @property
    def is_held(self) -> bool:
        """Whether the columns are in memory."""
        return self._table is not None

    @contextmanager
    def reading(self) -> Iterator[tuple[SpaceReader, Snapshot | None]]:
        """See ``FragmentSource``."""
        with self._current().reading() as (reader, snapshot):
            self._room.used(self, 0 if snapshot is None else len(snapshot))
            yield reader, snapshot

    def searching(
        self,
        queries: Sequence[Terms],  # noqa: ARG002
    ) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """See ``FragmentSource``: the columns serve every search."""
        return self.reading()

    def exact(self, reader: SpaceReader, model: EmbeddingModel, numbers: Codes) -> Floats:
        """See ``FragmentSource``."""
        return self._current().exact(reader, model, numbers)

    def spans(self, reader: SpaceReader, fragments: Sequence[int]) -> dict[int, Span]:
        """See ``FragmentSource``."""
        return self._current().spans(reader, fragments)

    def settle(self, progress: Progress | None = None) -> None:
        """See ``FragmentSource``: nothing is left to do."""

    def release(self) -> None:
        """Let the columns go; searches that are under way keep theirs until they end."""
        self._table = None

    def _current(self) -> Table:
        # Two threads may make one each: one of them is then loaded for nothing, and goes.
        table = self._table
        if table is None:
            table = self._table = Table(self._space, self._exact)
        return table


def read_limit() -> int | None:
    """The limit that the environment sets. Raises InputError."""
    given = os.environ.get(LIMIT_VARIABLE)
    if not given:
        return None
    if not (given.isascii() and given.isdecimal()):
        raise InputError(f"{LIMIT_VARIABLE} is {given!r}; give a whole number of fragments")
    return int(given)
