"""Changes that many threads ask for at once: one thread makes them all in one transaction.

What a transaction costs by itself, such as waiting for the disk, is then paid once. Each change
stands alone nevertheless: one that fails is undone up to its savepoint, and takes down only itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from typing import Any, Final, TypeVar

from treering import forks
from treering.errors import JournalBusy
from treering.journal.contract import Writer

T = TypeVar("T")

SHARE_S: Final = 0.1
"""A transaction takes in no further change after so long, as other writers wait for it."""

WAIT_S: Final = 60.0
"""A change waits no longer for those before it."""

OpenWriter = Callable[[], AbstractContextManager[Writer]]


class SharedWrites:
    """The changes of one database that wait for a transaction.

    A transaction takes in no further one after ``share_s`` seconds.
    """

    def __init__(self, share_s: float = SHARE_S) -> None:
        self._share_s = share_s
        self._begin()
        forks.renew_in_child(self, SharedWrites._begin)

    def _begin(self) -> None:
        self._condition = threading.Condition()  # protects what follows, and who has taken a change
        self._waiting: list[_Change] = []
        self._is_led = False

    def run(self, work: Callable[[Writer], T], write: OpenWriter) -> T:
        """The result of ``work``, done in a transaction of ``write`` or of another thread's.

        It may run in another thread and may be repeated, so it uses nothing but the writer that it
        is given. Raises what it raises, and what the transaction raises, of which nothing is stored
        then; JournalBusy if others take too long.
        """
        change = _Change(work)
        with self._condition:
            self._waiting.append(change)
            try:
                leads = self._has_its_turn(change)
            except BaseException:
                if change in self._waiting:
                    self._waiting.remove(change)
                raise
        if leads:
            self._lead(change, write)
        result: T = change.outcome()
        return result

    def _has_its_turn(self, change: _Change) -> bool:
        """Wait until a change is done, or is to be made by this thread. Raises JournalBusy."""
        turn = lambda: change.is_done or not self._is_led  # noqa: E731
        # One that another thread has taken will be done: whether it is stored must not stay open.
        while not self._condition.wait_for(turn, WAIT_S):
            if change in self._waiting:
                raise JournalBusy(f"others kept writing for over {WAIT_S:.0f} s; try again")
        if change.is_done:
            return False
        self._is_led = True
        self._waiting.remove(change)
        return True

    def _lead(self, mine: _Change, write: OpenWriter) -> None:
        """Make a change, and others that wait, in one transaction."""
        together = [mine]
        try:
            self._make(together, write)
        except Exception as error:
            # What could not even begin says nothing of the others: each of them tries by itself.
            failed = [mine] if not mine.is_made else together
            self._end(failed, [other for other in together if other not in failed], error)
        except BaseException:
            self._end([], together[1:], None)  # of this thread alone, which was interrupted
            raise
        else:
            self._end(together, [], None)

    def _make(self, together: list[_Change], write: OpenWriter) -> None:
        with write() as writer:
            until = time.monotonic() + self._share_s
            together[0].make(writer)
            while time.monotonic() < until:
                with self._condition:
                    if not self._waiting:
                        break
                    together.append(self._waiting.pop(0))
                together[-1].make(writer)

    def _end(
        self, done: Iterable[_Change], again: Iterable[_Change], error: Exception | None
    ) -> None:
        """Tell who waits for ``done`` that it is stored or has failed; let others do the rest."""
        with self._condition:
            for change in done:
                change.finish(error)
            self._waiting[:0] = again
            self._is_led = False
            self._condition.notify_all()


class _Undone(Exception):
    """A change that raised something, so that nothing of it is to stay."""


class _Change:
    """A change that waits to be made, or has been."""

    def __init__(self, work: Callable[[Writer], Any]) -> None:
        self._work = work
        self._result: Any = None
        self._error: Exception | None = None
        self.is_made = False
        self.is_done = False

    def make(self, writer: Writer) -> None:
        """Make the change, or none of it. Raises what undoing it raises."""
        self.is_made = True
        self._result = self._error = None
        with suppress(_Undone), writer.attempt():
            try:
                self._result = self._work(writer)
            except Exception as error:
                self._error = error
                raise _Undone from error

    def finish(self, error: Exception | None) -> None:
        """Note that the transaction has ended, and how."""
        self._error = self._error or error
        self.is_done = True

    def outcome(self) -> Any:
        """What the change has given. Raises what stopped it."""
        if self._error is not None:
            raise self._error
        return self._result
