"""Attempts: who works on what is noted in the database, and whether somebody still does.

An attempt is noted with its own number and the presence of its process. It ends with that process,
or before it if it fails there; whoever asks then may take over what it left.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from treering import forks
from treering.journal.contract import Database

_BITS: Final = 62
_at_work: set[int] = set()
"""The attempts of this process that have not ended."""
forks.call_in_child(_at_work.clear)  # those of the parent are under way only as long as it lives


@contextmanager
def begun() -> Iterator[int]:
    """The number of a new attempt, which ends with the block."""
    attempt = secrets.randbits(_BITS)
    _at_work.add(attempt)
    try:
        yield attempt
    finally:
        _at_work.discard(attempt)


def is_at_work(database: Database, presence: int, attempt: int) -> bool:
    """Whether an attempt has not ended, by its number and the presence of its process."""
    # Asked first: a process that lost its locks and took them again has another presence since.
    if attempt in _at_work:
        return True
    return presence != database.presence() and database.is_present(presence)
