"""Work over many rows by two threads. numpy and the products of vectors let each other run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count

from treering import forks

WORTHWHILE = 1 << 16
"""Rows from which a second thread gains more than it costs to wake."""

PIECE = 1 << 15
"""Rows per step, so that results stay in the processor's cache."""

_lock = threading.Lock()
_second: ThreadPoolExecutor | None = None


def pieces(size: int) -> Iterator[slice]:
    """The rows of a column in pieces."""
    for start in range(0, size, PIECE):
        yield slice(start, min(start + PIECE, size))


def do_all(tasks: Sequence[Callable[[], object]], rows: int) -> None:
    """Call all of some tasks, which together go over so many rows, as ``for_each`` does it."""
    for_each(lambda at: tasks[at](), len(tasks), rows)


def for_each_piece(work: Callable[[slice], object], size: int) -> None:
    """``work(rows)`` for all pieces of so many rows, as ``for_each`` does it."""
    rows = list(pieces(size))
    for_each(lambda at: work(rows[at]), len(rows), size)


def for_each(work: Callable[[int], object], size: int, rows: int) -> None:
    """``work(at)`` for the parts 0 to ``size``, which stand for so many rows together.

    With many rows another thread works beside this one, and each takes the next part that is left.
    Work does not ask for this again. Raises what ``work`` raises.
    """
    left = count()

    def work_on() -> None:
        while (at := next(left)) < size:
            work(at)

    later = _submit(work_on) if rows >= WORTHWHILE and size > 1 else None
    try:
        work_on()
    finally:
        # The other thread may be busy with another search: then it has nothing to do here any more.
        if later is not None and not later.cancel():
            later.result()


def _submit(work: Callable[[], None]) -> Future[None] | None:
    """Work under way; None once the interpreter ends, when no thread may begin."""
    try:
        return _helper().submit(work)
    except RuntimeError:
        return None


def _helper() -> ThreadPoolExecutor:
    global _second
    with _lock:
        if _second is None:
            _second = ThreadPoolExecutor(1, thread_name_prefix="treering-search")
        return _second


def _forget() -> None:
    """A forked process does not have its parent's threads."""
    global _lock, _second
    _lock, _second = threading.Lock(), None


forks.call_in_child(_forget)
