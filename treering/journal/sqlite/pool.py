"""The connections of a process to one SQLite file, one a thread, and the queues of its writers."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final
from weakref import WeakValueDictionary

from treering import forks
from treering.errors import JournalError
from treering.journal import posix_locks
from treering.journal.sqlite.connection import BUSY_TIMEOUT_S
from treering.journal.storage import SharedScrubs
from treering.journal.usage import DatabaseUse

MOST_FREE: Final = 8
"""Free connections that are kept, because opening one takes longer than a read."""


class ConnectionPool(DatabaseUse):
    """Lends connections to threads until it is closed. Safe to use from many threads."""

    def __init__(self, name: object, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(name)
        self._connect = connect
        self._free: list[sqlite3.Connection] = []
        self._taken: dict[threading.Thread, sqlite3.Connection] = {}
        self._scrubbing: list[sqlite3.Connection] = []  # one at most
        self._aside: dict[threading.Thread, sqlite3.Connection] = {}  # while they have that

    def connection(self) -> sqlite3.Connection:
        """Return the connection of this thread, which has entered."""
        me = threading.current_thread()
        with self._idle:
            self.refuse_closed()
            if me not in self._taken and self._free:
                self._taken[me] = self._free.pop()
            if me in self._taken:
                return self._taken[me]
        return self._take_new(me)

    @contextmanager
    def apart(self, **pragmas: str | int) -> Iterator[None]:
        """Another connection for this thread, with settings of its own.

        Temporary tables and settings make SQLite prepare all statements of a connection again,
        which would slow down the next search by half.
        """
        me = threading.current_thread()
        with self.enter():
            with self._idle:
                if me in self._taken:
                    self._aside[me] = self._taken.pop(me)
                if self._scrubbing:
                    self._taken[me] = self._scrubbing.pop()
            try:
                if me not in self._taken:
                    connection = self._take_new(me)
                    for name, value in pragmas.items():
                        connection.execute(f"PRAGMA {name}={value}")
                yield
            finally:
                with self._idle:
                    self._give_back(me, self._scrubbing, 1)
                    if me in self._aside:
                        self._taken[me] = self._aside.pop(me)

    @contextmanager
    def patience(self, wait_s: float) -> Iterator[sqlite3.Connection]:
        """The connection of this thread, whose statements wait that long for locks meanwhile."""
        with self.enter():
            connection = self.connection()
            try:
                connection.execute(f"PRAGMA busy_timeout={round(1000 * wait_s)}")
                yield connection
            finally:
                connection.execute(f"PRAGMA busy_timeout={round(1000 * BUSY_TIMEOUT_S)}")

    def close(self, leave: Callable[[], None]) -> None:
        """Close all connections once the uses of other threads have ended; then ``leave``.

        Closing a connection under another thread would crash SQLite. A connection that is not
        given back in time is closed when it is, and nothing is left then.
        """
        with suppress(JournalError), self.enter():  # closed already, or the parent's
            is_quiet = self.end_uses()
            with self._idle:
                for unused in (self._free, self._scrubbing):
                    while unused:
                        unused.pop().close()
                if is_quiet:
                    self.drop()
                    leave()

    def drop(self) -> None:
        """Close all connections, which no other thread may be using."""
        for connection in self._forget_all():
            connection.close()

    def leave_to_parent(self, *, was_quiet: bool) -> None:
        """Close the connections in a forked process: new ones would share SQLite's state of the
        file, and take no locks of their own. If any was in use they stay as they are for ever.
        """
        if was_quiet:
            self.drop()
        else:
            super().leave_to_parent(was_quiet=was_quiet)

    def _take_new(self, me: threading.Thread) -> sqlite3.Connection:
        connection = self._connect()
        with self._idle:
            self._taken[me] = connection
        return connection

    def _end(self, thread: threading.Thread) -> None:
        self._give_back(thread, self._free, MOST_FREE)

    def _give_back(
        self, thread: threading.Thread, unused: list[sqlite3.Connection], most: int
    ) -> None:
        """Keep the connection of a thread for the next one, ``most`` at most."""
        connection = self._taken.pop(thread, None)
        if connection is None:
            return
        if self._closed or connection.in_transaction or len(unused) >= most:
            connection.close()
        else:
            unused.append(connection)

    def _forget_all(self) -> list[sqlite3.Connection]:
        connections = [*self._taken.values(), *self._aside.values(), *self._free, *self._scrubbing]
        for some in (self._taken, self._aside, self._free, self._scrubbing):
            some.clear()
        return connections


class Queues:
    """Queues of the threads of a process, shared by all of its databases of one file."""

    def __init__(self) -> None:
        self.scrubs = SharedScrubs()
        self.writing = threading.RLock()


_queues: WeakValueDictionary[posix_locks.Inode, Queues] = WeakValueDictionary()
_finding = threading.Lock()  # protects _queues


def queues_of(inode: posix_locks.Inode) -> Queues:
    """Return the queues of a file."""
    with _finding:
        queues = _queues.get(inode)
        if queues is None:
            queues = _queues[inode] = Queues()
        return queues


def _forget_queues() -> None:
    """Forget the queues of the parent in a forked process: their locks may stay locked."""
    global _finding
    _finding = threading.Lock()
    _queues.clear()


forks.call_in_child(_forget_queues)
