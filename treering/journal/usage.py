"""The threads that use an open database: closing waits for them, and so does a fork."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from treering import forks
from treering.errors import JournalError

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
        with forks.gate.inside():
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
