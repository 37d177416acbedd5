"""Work over many rows by two threads. numpy and the products of vectors let each other run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from treering import forks

WORTHWHILE = 1 << 16
"""Rows from which a second thread gains more than it costs to wake."""

_lock = threading.Lock()
_second: ThreadPoolExecutor | None = None


def halves(work: Callable[[int, int], None], size: int, rows: int) -> None:
    """``work(first, stop)`` for the parts 0 to ``size``, which stand for so many rows together.

    With many rows the second half is worked on by another thread. Raises what ``work`` raises.
    """
    later = _submitted(work, size) if rows >= WORTHWHILE and size > 1 else None
    if later is None:
        work(0, size)
        return
    try:
        work(0, size // 2)
    finally:
        later.result()


def _submitted(work: Callable[[int, int], None], size: int) -> Future[None] | None:
    """The second half under way; None once the interpreter ends, when no thread may begin."""
    try:
        return _helper().submit(work, size // 2, size)
    except RuntimeError:
        return None


def _helper() -> ThreadPoolExecutor:
    global _second
    with _lock:
        if _second is None:
            _second = ThreadPoolExecutor(1, thread_name_prefix="treering-search")
        return _second


def _forget() -> None:
    """A forked process has none of its parent's threads."""
    global _lock, _second
    _lock, _second = threading.Lock(), None


forks.call_in_child(_forget)
