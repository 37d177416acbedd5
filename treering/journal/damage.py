"""Damage: what a file gives back is compared with what was stored; damaged text is never shown."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from treering.errors import JournalCorrupt

T = TypeVar("T")

HELP: Final = (
    "`treering doctor` names all that is damaged, `treering export` gives the rest, and "
    "`treering forget ID` removes an entry; restore a copy of the file if there is one"
)
ANEW: Final = "`treering export` and `treering import` into a new file make it anew"
"""What helps where only something derived is damaged."""

_MIN_KEYS: Final = 1 << 12  # imports may have counted lines that were there already
_UNREADABLE: Final = (
    *(TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError),
    *(RecursionError, FloatingPointError, zlib.error),
)
"""What decoding raises when a row does not hold what was put there."""

Content = tuple[str, str, str | None, str | None, str | None, str, int | None]
"""What a digest is of, besides a key: text, kind, speaker, role, session, metadata and time."""


def digest(content: Content, key: str) -> bytes:
    """The identity of a content within its source; ``key`` tells equal contents apart."""
    return hashlib.sha256(f"{_head(content)}{_tail(key)}".encode()).digest()


def is_content(stored: bytes, content: Content, identity: str, seq: int) -> bool:
    """Whether a digest is that of a content, under any key that an entry can have.

    The key is not stored. It is empty for all but repetitions; the id for a change of a memo and
    for what was made equal to another entry; and else the number of equal entries before, all of
    which were added earlier and so have a lower sequence number.
    """
    # Many keys may have to be tried: the content is hashed once, and only the keys differ.
    begun = hashlib.sha256(_head(content).encode())

    def has(key: str) -> bool:
        whole = begun.copy()
        whole.update(_tail(key).encode())
        return whole.digest() == stored

    if has("") or has(identity):
        return True
    return any(has(str(number)) for number in range(1, max(seq, _MIN_KEYS)))


def of_entry(identity: object, why: str) -> JournalCorrupt:
    """The error for an entry, which never holds its text."""
    return JournalCorrupt(f"entry {identity!r} is damaged: {why}. {HELP}")


@contextmanager
def decoding_entry(identity: object) -> Iterator[None]:
    """Turn whatever decoding of an entry's row raises into JournalCorrupt that names it."""
    try:
        yield
    except _UNREADABLE as error:
        raise of_entry(identity, "it cannot be read") from error


def checked(kind: type[T], value: object) -> T:
    """A value of that type: SQLite keeps any value in any column. Raises TypeError."""
    if not isinstance(value, kind):
        raise TypeError(f"a {type(value).__name__}")
    return value


@contextmanager
def decoding(what: str, remedy: str = ANEW) -> Iterator[None]:
    """Turn whatever decoding of ``what`` raises into JournalCorrupt. For derived rows."""
    try:
        yield
    except _UNREADABLE as error:
        raise JournalCorrupt(f"{what} cannot be read: the file is damaged. {remedy}") from error


def _head(content: Content) -> str:
    return json.dumps(content, ensure_ascii=False)[:-1]


def _tail(key: str) -> str:
    return f", {json.dumps(key, ensure_ascii=False)}]"
