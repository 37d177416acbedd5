"""Doing a change once more that a server ended in favour of somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from treering.errors import JournalConflict

T = TypeVar("T")

ATTEMPTS: Final = 4


def retried(work: Callable[[], T]) -> T:
    """What ``work`` returns; it is one transaction, and begun again a few times if it must be.

    Raises what it raises. Of an attempt that the server ended nothing was stored, so nothing is
    done twice; one whose connection was lost while it ended may be stored, and is not repeated.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(JournalConflict):
            return work()
    return work()
