"""Forked processes: the locks, threads and connections that a child must not use as they are.

A fork copies the memory of a process, and only the thread that called it. A lock that another
thread held stays locked for ever in the copy, and the state of libraries about files and threads is
wrong there.
"""

from __future__ import annotations

# These two lock what is theirs before a fork, which a thread that the fork waits for may want: they
# are imported before this module registers its own function, as the last one is called first.
import concurrent.futures.thread  # noqa: F401
import ctypes
import logging  # noqa: F401
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from treering.errors import JournalError

T = TypeVar("T")

QUIET_TIMEOUT_S = 10.0
"""How long a fork waits for transactions of other threads."""


class Gate:
    """Lets threads in while they use a database; a thread that must be alone waits for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: dict[int, int] = {}
        self._alone: int | None = None  # the thread that keeps others out

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Use a database. A thread that is inside already does not wait."""
        me = threading.get_ident()
        with self._changed:
            # A nested use must not wait, because the thread that shuts the gate waits for this one.
            if me not in self._inside:
                self._changed.wait_for(lambda: self._alone in (None, me))
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                left = self._inside.pop(me, 1) - 1
                if left:
                    self._inside[me] = left
                if self._alone is not None:
                    self._changed.notify_all()

    @contextmanager
    def alone(self, timeout_s: float = QUIET_TIMEOUT_S) -> Iterator[bool]:
        """Keep other threads out; False if one was still inside after ``timeout_s``."""
        is_quiet = self.shut(timeout_s)
        try:
            yield is_quiet
        finally:
            self.reopen()

    def shut(self, timeout_s: float = QUIET_TIMEOUT_S) -> bool:
        """Keep others out until ``reopen``; False if a thread was still inside at the end."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._alone in (None, me))
            self._alone = me
            return self._changed.wait_for(lambda: not self._inside.keys() - {me}, timeout_s)

    def reopen(self) -> None:
        """Let the other threads in again."""
        with self._changed:
            self._alone = None
            self._changed.notify_all()

    def is_inside(self) -> bool:
        """Whether this thread uses a database."""
        return threading.get_ident() in self._inside

    def renew(self) -> None:
        """Begin again in a forked process, without the other threads."""
        me = threading.get_ident()
        self._changed = threading.Condition()
        self._inside = {me: self._inside[me]} if me in self._inside else {}
        self._alone = None


gate = Gate()
"""Of this process: SQLite keeps one state of a file for all of its connections in a process."""


CLOSE_TIMEOUT_S: Final = 10.0
"""For calls in other threads, such as a search that is being cancelled."""


class DatabaseUse:
    """Counts the uses of a database by thread. Every use after closing raises ``why_closed``."""

    def __init__(self, why_closed: str) -> None:
        self._why_closed = why_closed
        self._idle = threading.Condition()  # protects what follows
        self._uses: dict[threading.Thread, int] = {}
        self._closed = False

    @contextmanager
    def enter(self) -> Iterator[None]:
        """The time of a use, which may be nested. Raises JournalError once closed."""
        me = threading.current_thread()
        with gate.inside():
            with self._idle:
                self._refuse_closed()
                self._uses[me] = self._uses.get(me, 0) + 1
            try:
                yield
            finally:
                with self._idle:
                    left = self._uses.pop(me, 1) - 1
                    if left:
                        self._uses[me] = left
                    else:
                        self._end(me)
                    self._idle.notify_all()

    def end_uses(self) -> bool:
        """Refuse further uses; return whether those of other threads end in time."""
        me = threading.current_thread()
        with self._idle:
            self._closed = True
            return self._idle.wait_for(lambda: not self._uses.keys() - {me}, CLOSE_TIMEOUT_S)

    def renew_in_child(self) -> None:
        """Begin again in a forked process, without the other threads."""
        self._idle = threading.Condition()
        self._uses.clear()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise JournalError(self._why_closed)

    def _end(self, thread: threading.Thread) -> None:
        """Called when the last use of a thread has ended."""


def importing() -> AbstractContextManager[None]:
    """A lazy import: a fork in another thread waits for it.

    A process that is forked during an import keeps the module half imported, and locked for ever.
    """
    return gate.inside()


_first: list[Callable[[], None]] = []
_renewals: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()
_was_quiet = True


def call_in_child(function: Callable[[], None]) -> None:
    """Call a function of a module in each forked process, before what ``renew_in_child`` does."""
    _first.append(function)


def renew_in_child(owner: T, renew: Callable[[T], None]) -> None:
    """Call ``renew(owner)`` in each forked process; ``renew`` must not hold ``owner``."""
    _renewals[owner] = renew


def was_quiet() -> bool:
    """Whether no transaction was under way when this process was forked."""
    return _was_quiet


def abandon(thing: object) -> None:
    """Never free an object: its library would free it wrongly in a forked process."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _before() -> None:
    global _was_quiet
    _was_quiet = gate.shut() and not gate.is_inside()


def _in_child() -> None:
    gate.renew()
    for function in _first:
        function()
    for owner, renew in list(_renewals.items()):
        renew(owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=gate.reopen, after_in_child=_in_child)
