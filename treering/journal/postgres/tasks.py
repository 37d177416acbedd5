"""Work that one process does at a time: the locks of it, held beside any transaction.

They are held by the connection that is also the sign of life of the process. So a transaction need
not stay open while a model is at work, and what a killed process held is free at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import psycopg
from psycopg import errors as pg
from psycopg.rows import TupleRow

from treering.journal.postgres.locks import Locks
from treering.journal.postgres.presence import Presence

TURN_S: Final = 1.0

Borrow = Callable[[], AbstractContextManager[psycopg.Connection[TupleRow]]]


class Tasks:
    """The work that threads of this process have taken, and waiting for that of others."""

    def __init__(self, locks: Locks, presence: Presence, borrow: Borrow) -> None:
        self._locks = locks
        self._presence = presence
        self._borrow = borrow
        self._changed = threading.Condition()  # protects what this process has
        self._ours: set[int] = set()

    @contextmanager
    def taken(self, name: str) -> Iterator[bool]:
        """See ``Database.task``."""
        lock = self._locks.of_task(name)
        is_ours = self._take(lock)
        try:
            yield is_ours
        finally:
            if is_ours:
                self._give_up(lock)

    def wait(self, name: str, wait_s: float) -> bool:
        """See ``Database.await_task``."""
        lock, until = self._locks.of_task(name), time.monotonic() + wait_s
        with self._changed:  # the threads of this process share one connection, and its locks
            if not self._changed.wait_for(lambda: lock not in self._ours, wait_s):
                return False
        # In short turns, so that who reads gets the connection in between if there is only one.
        while not self._is_free(lock, min(until - time.monotonic(), TURN_S)):
            if time.monotonic() >= until:
                return False
        return True

    def _is_free(self, lock: int, wait_s: float) -> bool:
        """Whether no other process has a lock, or gives it up in time."""
        with self._borrow() as connection:
            connection.execute("BEGIN")
            try:
                connection.execute(f"SET LOCAL lock_timeout = {max(int(wait_s * 1000), 1)}")
                # Shared: those who wait do not wait for each other.
                connection.execute(f"SELECT pg_advisory_xact_lock_shared({lock})")
            except pg.LockNotAvailable:
                return False
            finally:
                if not connection.broken:
                    connection.execute("ROLLBACK")
        return True

    def _take(self, lock: int) -> bool:
        with self._changed:
            if lock in self._ours:
                return False
            self._ours.add(lock)  # now, so that no other thread asks: it would get the lock, too
        is_ours = False
        try:
            is_ours = self._presence.hold(lock)
        finally:
            if not is_ours:
                self._forget(lock)
        return is_ours

    def _give_up(self, lock: int) -> None:
        self._presence.free(lock)
        self._forget(lock)

    def _forget(self, lock: int) -> None:
        with self._changed:
            self._ours.discard(lock)
            self._changed.notify_all()
