"""Group commit: one thread runs the changes, or the scrubbing, that several threads ask for.

The cost of a transaction, such as the wait for the disk, is then paid once. Each change can fail
alone: it is undone up to its savepoint.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, suppress
from typing import Any, Final, TypeVar, cast

from treering.errors import JournalBusy, JournalError
from treering.journal.contract import Outcome, Writer

T = TypeVar("T")

SHARE_S: Final = 0.1
"""A transaction accepts no further change after this time, because other writers wait."""

WAIT_S: Final = 60.0
"""A change waits this long for the changes before it."""

UNKNOWN: Final = (
    "the thread that stored this for several was interrupted meanwhile: this change may be stored "
    "or not; look whether it is there, or repeat it"
)

OpenWriter = Callable[[], AbstractContextManager[Writer]]


class SharedWrites:
    """The changes of one database that wait for a transaction.

    A transaction accepts no further change after ``share_s`` seconds.
    """

    def __init__(self, share_s: float = SHARE_S) -> None:
        self._share_s = share_s
        self._lock = threading.Lock()  # protects what follows, and who has taken a change
        self._waiting: list[_Change] = []
        self._leader: _Change | None = None  # that of the thread that makes them

    def run(self, work: Callable[[Writer], T], write: OpenWriter) -> T:
        """Return the result of ``work``, run in a transaction of this thread or of another one.

        It may run in another thread, and more than once, so it must use nothing but its writer.
        Raises its errors, those of the transaction, which is then undone, and JournalBusy if other
        threads take too long.
        """
        change = _Change(work, self._lock)
        batch = _Batch(change)
        try:
            if self._has_its_turn(change):
                self._lead(batch, write)
        finally:
            # If this thread is interrupted again, it still lets the waiting threads go on.
            try:
                self._leave(batch)
            except BaseException:
                self._leave(batch)
                raise
        return cast(T, change.outcome())

    def _has_its_turn(self, change: _Change) -> bool:
        """Wait; return whether this thread runs the change. Raise JournalBusy."""
        is_its_turn = lambda: change.is_done or self._leader is None  # noqa: E731
        with self._lock:
            self._waiting.append(change)
            # Once another thread has taken the change, wait for its outcome without a limit.
            while not change.turn.wait_for(is_its_turn, WAIT_S):
                if change in self._waiting:
                    raise JournalBusy(
                        f"other threads kept writing for over {WAIT_S:.0f} s; try again"
                    )
            if not change.is_done:
                self._leader = change
                self._waiting.remove(change)
        return not change.is_done

    def _lead(self, batch: _Batch, write: OpenWriter) -> None:
        """Make a change, and others that wait, in one transaction."""
        try:
            with write() as writer:
                batch.writer = writer
                until = time.monotonic() + self._share_s
                batch.changes[0].make(writer)
                while time.monotonic() < until:
                    with self._lock:
                        if not self._waiting:
                            break
                        # Append first, so that an interruption does not lose the change.
                        batch.changes.append(self._waiting[0])
                        del self._waiting[0]
                    batch.changes[-1].make(writer)
            batch.is_stored = True
        except Exception as error:
            batch.failure = error

    def _leave(self, batch: _Batch) -> None:
        """Report the outcome of a batch, and let another thread run the waiting changes."""
        with self._lock:
            change = batch.changes[0]
            if self._leader is change:
                batch.end()
                again = [other for other in batch.changes[1:] if other.is_awaited]
                taken = set(batch.changes)
                behind = [other for other in self._waiting if other not in taken]
                self._waiting = again + behind
                self._leader = None
            else:
                change.is_awaited = False  # its thread knows the outcome, or has stopped waiting
                if change in self._waiting:
                    self._waiting.remove(change)
            if self._waiting and self._leader is None:
                self._waiting[0].turn.notify()


class _Undone(Exception):
    """A change that raised something, so that nothing of it is to stay."""


class _Change:
    """A change that waits for a transaction, or has run."""

    def __init__(self, work: Callable[[Writer], Any], lock: threading.Lock) -> None:
        self._work = work
        self._result: Any = None
        self._error: Exception | None = None
        self.turn = threading.Condition(lock)  # its own, because one of many threads wakes up
        self.is_made = False
        self.is_done = False
        self.is_awaited = True

    def make(self, writer: Writer) -> None:
        """Run the change as a whole or not at all. Raises errors of undoing it."""
        self.is_made = True
        self._result = self._error = None
        with suppress(_Undone), writer.attempt():
            try:
                self._result = self._work(writer)
            except Exception as error:
                self._error = error
                raise _Undone from error

    def end(self, error: Exception | None) -> None:
        """Store the outcome of the transaction, and wake the waiting thread."""
        self._error = self._error or error
        self.is_done = True
        self.is_awaited = False
        self.turn.notify()

    def outcome(self) -> Any:
        """Return the result of the change, or raise its error."""
        if self._error is not None:
            raise self._error
        return self._result


class _Batch:
    """The changes that a thread makes in one transaction, its own first."""

    def __init__(self, change: _Change) -> None:
        self.changes = [change]
        self.writer: Writer | None = None
        self.is_stored = False
        self.failure: Exception | None = None

    def end(self) -> None:
        """Report the outcome to the waiting threads.

        If the interruption of this thread has undone the changes, the other threads run theirs.
        """
        own = self.changes[0]
        if self.failure is not None:
            # If the transaction could not begin, each of the other threads tries its own.
            self._end(self.changes if own.is_made else [own], self.failure)
        elif self.is_stored or self._outcome == "stored":
            self._end(self.changes, None)
        elif self._outcome == "unknown":
            self._end(self.changes, JournalError(UNKNOWN))

    @property
    def _outcome(self) -> Outcome:
        return "undone" if self.writer is None else self.writer.outcome

    def _end(self, changes: Iterable[_Change], error: Exception | None) -> None:
        for change in changes:
            change.end(error)


class SharedScrubs:
    """The scrubbings of one database that several threads ask for: one thread runs them all.

    A scrubbing counts for every thread that asked before it began, because the erasing
    transactions of those threads had ended.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()  # protects the next scrubbing
        self._next = _Scrub()

    def run(self, tables: Collection[str], scrub: Callable[[Collection[str]], bool]) -> bool:
        """Return the result of a scrubbing of the tables that begins after this call.

        ``scrub`` does it. Every thread that waits for it raises the error that ``scrub`` raises.
        If the thread that scrubs is interrupted, another one scrubs.
        """
        with self._lock:
            mine = self._next
            mine.tables += tables
        with self._turn:
            with self._lock:
                if self._next is mine:
                    self._next = _Scrub()
            if mine.outcome is None:
                try:
                    mine.outcome = scrub(frozenset(mine.tables))
                except Exception as error:
                    mine.outcome = error
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        return mine.outcome


class _Scrub:
    """A scrubbing that threads wait for; the outcome is None until it has ended."""

    def __init__(self) -> None:
        self.tables: list[str] = []
        self.outcome: bool | Exception | None = None
