"""What the threads of a process share of one SQLite file: its connections, and queues for it.

Each thread that is inside has a connection for itself.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

from treering import forks
from treering.errors import JournalError
from treering.journal import posix_locks
from treering.journal.group_commit import SharedScrubs, SharedWrites
from treering.journal.sqlite.failures import BUSY_TIMEOUT_S

CLOSE_TIMEOUT_S: Final = 10.0
"""For calls in other threads, such as a search that is being cancelled."""

MOST_FREE: Final = 8
"""Connections that are kept for whoever needs one next: opening one takes longer than a read."""


class ConnectionPool:
    """Lends connections to threads until it is closed. Safe to use from many threads.

    ``why_closed`` is told to whoever asks for one then.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], why_closed: str) -> None:
        self._connect = connect
        self._why_closed = why_closed
        self._idle = threading.Condition()  # protects what follows
        self._free: list[sqlite3.Connection] = []
        self._taken: dict[threading.Thread, sqlite3.Connection] = {}
        self._scrubbing: list[sqlite3.Connection] = []  # one at most
        self._aside: dict[threading.Thread, sqlite3.Connection] = {}  # while they have that
        self._inside: dict[threading.Thread, int] = {}  # transactions under way
        self._closed = False

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The time in which this thread may have a connection. Raises JournalError once closed."""
        me = threading.current_thread()
        with forks.gate.inside():
            with self._idle:
                if self._closed:
                    raise JournalError(self._why_closed)
                self._inside[me] = self._inside.get(me, 0) + 1
            try:
                yield
            finally:
                with self._idle:
                    left = self._inside.pop(me, 1) - 1
                    if left:
                        self._inside[me] = left
                    else:
                        self._give_back(me, self._free, MOST_FREE)
                    self._idle.notify_all()

    def connection(self) -> sqlite3.Connection:
        """That of the transaction of this thread, which has entered; else one that is free."""
        me = threading.current_thread()
        with self._idle:
            if self._closed:
                raise JournalError(self._why_closed)
            if me not in self._taken and self._free:
                self._taken[me] = self._free.pop()
            if me in self._taken:
                return self._taken[me]
        return self._take_new(me)

    @contextmanager
    def apart(self, **pragmas: str | int) -> Iterator[None]:
        """Another connection for this thread, for what makes SQLite prepare all statements anew.

        Temporary tables and settings do: a search after it would take half as long again. The
        connection has the settings for good, as nothing else uses it.
        """
        me = threading.current_thread()
        with self.entered():
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
        """This thread's connection, whose statements wait that long for locks meanwhile."""
        with self.entered():
            connection = self.connection()
            try:
                connection.execute(f"PRAGMA busy_timeout={round(1000 * wait_s)}")
                yield connection
            finally:
                connection.execute(f"PRAGMA busy_timeout={round(1000 * BUSY_TIMEOUT_S)}")

    def close(self, leave: Callable[[], None]) -> None:
        """Close all connections, once the transactions of other threads have ended; then ``leave``.

        SQLite does not survive that a connection is closed while another thread uses it. One that
        is not given back in time is closed when it is, and nothing is left then.
        """
        mine = threading.current_thread()
        with self._idle:
            self._closed = True
            is_quiet = self._idle.wait_for(
                lambda: not self._inside.keys() - {mine}, CLOSE_TIMEOUT_S
            )
            for unused in (self._free, self._scrubbing):
                while unused:
                    unused.pop().close()
            if is_quiet:
                self.drop()
                leave()

    def drop(self) -> None:
        """Close all connections, which no other thread may be using."""
        for connection in self._forgotten():
            connection.close()

    def begin_in_child(self, why_unusable: str) -> bool:
        """Begin again in a forked process, without the other threads and what they had locked.

        The connections are closed, as new ones would share SQLite's state of the file and take no
        locks of their own. That undoes nothing of the parent's as long as no transaction is under
        way; if one was, they are left as they are for ever, and this is closed. False then.
        """
        is_usable = forks.was_quiet() or not self._inside
        self._idle = threading.Condition()
        self._inside.clear()
        if is_usable:
            self.drop()
            return True
        for connection in self._forgotten():
            forks.abandon(connection)
        self._closed = True
        self._why_closed = why_unusable
        return False

    def _take_new(self, me: threading.Thread) -> sqlite3.Connection:
        connection = self._connect()
        with self._idle:
            self._taken[me] = connection
        return connection

    def _give_back(
        self, thread: threading.Thread, unused: list[sqlite3.Connection], most: int
    ) -> None:
        """Leave the connection of a thread to whoever needs one next, of so many at most."""
        connection = self._taken.pop(thread, None)
        if connection is None:
            return
        if self._closed or connection.in_transaction or len(unused) >= most:
            connection.close()
        else:
            unused.append(connection)

    def _forgotten(self) -> list[sqlite3.Connection]:
        """All connections, which nobody is given any more."""
        connections: list[sqlite3.Connection] = []
        for some in (self._taken, self._aside):
            connections += some.values()
            some.clear()
        for unused in (self._free, self._scrubbing):
            connections += unused
            unused.clear()
        return connections


class Queues:
    """What all databases of one file share in a process: threads queue here, and do not poll it."""

    def __init__(self) -> None:
        self.scrubs = SharedScrubs()
        self.writes = SharedWrites()
        self._begin()
        forks.renew_in_child(self, Queues._begin)

    def _begin(self) -> None:
        self.writing = threading.RLock()


_queues: WeakValueDictionary[posix_locks.Inode, Queues] = WeakValueDictionary()
_finding = threading.Lock()  # protects _queues


def queues_of(inode: posix_locks.Inode) -> Queues:
    """Those of a file."""
    with _finding:
        queues = _queues.get(inode)
        if queues is None:
            queues = _queues[inode] = Queues()
        return queues
