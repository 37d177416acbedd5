"""The uses of a database by the threads of a process: closing waits for them.

A forked process must not use the databases of its parent, and gets an error. It may open a file
again, unless the parent used one at the moment of the fork: the child then has SQLite's state of
that moment for ever, and would take no locks.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakSet

from treering import forks
from treering.errors import JournalError
from treering.journal import posix_locks

QUIET_TIMEOUT_S: Final = 10.0
"""For calls in other threads, such as a search that is being cancelled."""

FORKED: Final = (
    "it was open when this process was forked; open it again here, or start processes with the "
    "method 'spawn'"
)


class DatabaseUse:
    """Counts the uses of a database by thread; errors of later uses have its ``name``."""

    def __init__(self, name: object) -> None:
        self._name = name
        self._idle = threading.Condition()  # protects what follows
        self._uses: dict[threading.Thread, int] = {}
        self._alone: threading.Thread | None = None  # the thread that keeps others out
        self._closed = False
        self._process = os.getpid()
        self.owned: object = None
        """What must not be freed in a forked process."""
        _open.add(self)

    @contextmanager
    def enter(self) -> Iterator[None]:
        """The time of a use, which may be nested. Raises JournalError once closed, or forked."""
        me = threading.current_thread()
        self.refuse_forked()
        with self._idle:
            # A nested use must not wait, because the thread that is alone waits for this one.
            if me not in self._uses:
                self._idle.wait_for(lambda: self._alone in (None, me))
            self.refuse_closed()
            self._uses[me] = self._uses.get(me, 0) + 1
        try:
            yield
        finally:
            with self._idle:
                if self._uses[me] == 1:
                    self._end(me)
                    del self._uses[me]
                else:
                    self._uses[me] -= 1
                self._idle.notify_all()

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Keep other threads out; False if one was still inside after some time."""
        me = threading.current_thread()
        with self._idle:
            self._alone = me
            is_quiet = self._wait_for_others()
        try:
            yield is_quiet
        finally:
            with self._idle:
                self._alone = None
                self._idle.notify_all()

    def is_inside(self) -> bool:
        """Whether this thread uses the database."""
        return threading.current_thread() in self._uses

    def end_uses(self) -> bool:
        """Refuse further uses; return whether those of other threads end in time."""
        with self._idle:
            self._closed = True
            return self._wait_for_others()

    def _wait_for_others(self) -> bool:
        me = threading.current_thread()
        return self._idle.wait_for(lambda: not self._uses.keys() - {me}, QUIET_TIMEOUT_S)

    def is_forked(self) -> bool:
        """Whether this is another process than the one that opened the database."""
        return self._process != os.getpid()

    def refuse_forked(self) -> None:
        """Raise JournalError in a forked process."""
        if self.is_forked():
            raise JournalError(f"{self._name}: {FORKED}")

    def refuse_closed(self) -> None:
        """Raise JournalError once the database was closed."""
        if self._closed:
            raise JournalError(f"{self._name} has been closed; open it again")

    def _end(self, thread: threading.Thread) -> None:
        """Called when the last use of a thread ends."""

    def leave_to_parent(self, *, was_quiet: bool) -> None:  # noqa: ARG002
        """Called in a forked process; ``was_quiet``: the parent did not use a database."""
        forks.abandon(self)


_open: WeakSet[DatabaseUse] = WeakSet()


def _leave_all_to_parent() -> None:
    databases = list(_open)
    was_quiet = not any(database._uses for database in databases)
    for database in databases:
        database._idle = threading.Condition()
        database.leave_to_parent(was_quiet=was_quiet)
    _open.clear()
    posix_locks.leave_to_parent(was_quiet=was_quiet)


forks.call_in_child(_leave_all_to_parent)
