"""Changes that many threads ask for at once: one thread makes them all in one transaction.

What a transaction costs by itself, such as waiting for the disk, is then paid once. So is what
comes after it, such as scrubbing the file. Each change stands alone nevertheless: one that fails is
undone up to its savepoint, and takes down only itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from typing import Any, Final, TypeVar, cast

from treering import forks
from treering.errors import JournalBusy, JournalError
from treering.journal.contract import Outcome, Writer

T = TypeVar("T")
F = TypeVar("F")

SHARE_S: Final = 0.1
"""A transaction takes in no further change after so long, as other writers wait for it."""

WAIT_S: Final = 60.0
"""A change waits no longer for those before it."""

UNKNOWN: Final = (
    "the thread that stored this for several was interrupted meanwhile: this change may be stored "
    "or not; look whether it is there, or repeat it"
)

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
        self._lock = threading.Lock()  # protects what follows, and who has taken a change
        self._waiting: list[_Change] = []
        self._leader: _Change | None = None  # that of the thread that makes them

    def run(self, work: Callable[[Writer], T], write: OpenWriter) -> T:
        """The result of ``work``, done in a transaction of ``write`` or of another thread's.

        It may run in another thread and may be repeated, so it uses nothing but the writer that it
        is given. Raises what it raises, and what the transaction raises, of which nothing is stored
        then; JournalBusy if others take too long.
        """
        return cast(T, self._made(_Change(work, self._lock), write).outcome())

    def run_and_finish(
        self, work: Callable[[Writer], T], write: OpenWriter, finish: Callable[[], F]
    ) -> tuple[T, F]:
        """As ``run``, with what ``finish`` gives after the transaction.

        The thread that makes the changes does that once for all of them. Raises what it raises;
        the changes are stored then.
        """
        change = self._made(_Change(work, self._lock), write, finish)
        result: T = change.outcome()
        # Whoever failed in it, or was interrupted, has left it to each of the others.
        return result, cast(F, change.finished[0]) if change.finished else finish()

    def _made(
        self, change: _Change, write: OpenWriter, finish: Callable[[], object] | None = None
    ) -> _Change:
        """A change, once it has been made or has failed."""
        batch = _Batch(change)
        try:
            if self._has_its_turn(change):
                self._lead(batch, write, finish)
        finally:
            # Whoever is interrupted once more still lets those go on who wait for it.
            try:
                self._leave(batch)
            except BaseException:
                self._leave(batch)
                raise
        return change

    def _has_its_turn(self, change: _Change) -> bool:
        """Wait until a change is done, or is to be made by this thread. Raises JournalBusy."""
        is_its_turn = lambda: change.is_done or self._leader is None  # noqa: E731
        with self._lock:
            self._waiting.append(change)
            # One that another thread has taken will be done: what became of it is waited for.
            while not change.turn.wait_for(is_its_turn, WAIT_S):
                if change in self._waiting:
                    raise JournalBusy(f"others kept writing for over {WAIT_S:.0f} s; try again")
            if not change.is_done:
                self._leader = change
                self._waiting.remove(change)
        return not change.is_done

    def _lead(self, batch: _Batch, write: OpenWriter, finish: Callable[[], object] | None) -> None:
        """Make a change, and others that wait, in one transaction; then finish what is stored."""
        try:
            self._make(batch, write)
            batch.is_stored = True
            self._finish(batch.changes, finish)
        except Exception as error:
            batch.failure = error

    def _finish(self, together: list[_Change], finish: Callable[[], object] | None) -> None:
        """Do what comes after the transaction of some changes, unless all of them failed.

        An error is that of the thread that does it, by its own means: each other one does it then.
        """
        if finish is None or not any(change.is_good for change in together):
            return
        try:
            finished = (finish(),)
        except Exception as error:
            together[0].fail(error)
        else:
            for change in together:
                change.finished = finished

    def _make(self, batch: _Batch, write: OpenWriter) -> None:
        with write() as writer:
            batch.writer = writer
            until = time.monotonic() + self._share_s
            batch.changes[0].make(writer)
            while time.monotonic() < until:
                with self._lock:
                    if not self._waiting:
                        break
                    batch.changes.append(self._waiting[0])  # first, lest an interruption loses it
                    del self._waiting[0]
                batch.changes[-1].make(writer)

    def _leave(self, batch: _Batch) -> None:
        """Let others make what waits. What was made here, and is stored or has failed, is done."""
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
                change.is_awaited = False  # its thread has been told, or has stopped waiting
                if change in self._waiting:
                    self._waiting.remove(change)
            if self._waiting and self._leader is None:
                self._waiting[0].turn.notify()


class _Undone(Exception):
    """A change that raised something, so that nothing of it is to stay."""


class _Change:
    """A change that waits to be made, or has been."""

    def __init__(self, work: Callable[[Writer], Any], lock: threading.Lock) -> None:
        self._work = work
        self._result: Any = None
        self._error: Exception | None = None
        self.turn = threading.Condition(lock)  # its own: many wait, and one is to wake up
        self.is_made = False
        self.is_done = False
        self.is_awaited = True
        self.finished: tuple[object] | None = None
        """What came after the transaction has given, if it was done for this change."""

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

    @property
    def is_good(self) -> bool:
        """Whether the change was made, and nothing stopped it."""
        return self.is_made and self._error is None

    def fail(self, error: Exception) -> None:
        """Note what stopped the change, or what comes after it; the first error stays."""
        self._error = self._error or error

    def end(self, error: Exception | None) -> None:
        """Note that the transaction has ended, and how; tell who waits for it."""
        if error is not None:
            self.fail(error)
        self.is_done = True
        self.is_awaited = False
        self.turn.notify()

    def outcome(self) -> Any:
        """What the change has given. Raises what stopped it."""
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
        """Tell those that wait what has become of their changes.

        What the interruption of this thread has undone stays open: the others make it themselves.
        """
        own = self.changes[0]
        if self.failure is not None:
            # What could not even begin says nothing of the others: each of them tries by itself.
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
