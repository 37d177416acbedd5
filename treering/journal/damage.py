"""Digests of entries, and errors for rows that do not hold what was stored."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from json.encoder import encode_basestring
from typing import Final, TypeVar

from treering.errors import JournalCorrupt

T = TypeVar("T")

HELP: Final = (
    "`treering doctor` lists everything that is damaged, `treering export` writes the rest, and "
    "`treering forget ID` removes an entry; restore a copy of the file if you have one"
)
ANEW: Final = "`treering export` and `treering import` into a new file rebuild it"
"""The remedy where only derived rows are damaged."""

_quoted: Final = encode_basestring
"""A text as JSON, with characters outside ASCII as they are."""

_UNREADABLE: Final = (
    *(TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError),
    *(RecursionError, FloatingPointError, zlib.error),
)
"""What decoding raises when a row does not hold what was stored."""

Content = tuple[str, str, str | None, str | None, str | None, str, int | None]
"""The text, kind, speaker, role, session, metadata and time of an entry."""


def digest(content: Content, key: str) -> bytes:
    """Return the identity of a content within its source; ``key`` tells equal contents apart.

    It is the SHA-256 of a list in JSON with the texts as they are. The list is written here,
    because a JSON encoder takes three times as long, and every entry stored or read passes by.
    """
    text, kind, speaker, role, session, metadata, at = content
    written = (
        f"[{_quoted(text)}, {_quoted(kind)}, {_optional(speaker)}, {_optional(role)}, "
        f"{_optional(session)}, {_quoted(metadata)}, "
        f"{'null' if at is None else checked(int, at)}, {_quoted(key)}]"
    )
    return hashlib.sha256(written.encode()).digest()


def _optional(text: str | None) -> str:
    return "null" if text is None else _quoted(text)


def of_entry(identity: object, why: str) -> JournalCorrupt:
    """Return the error for a damaged entry, without its text."""
    return JournalCorrupt(f"entry {identity!r} is damaged: {why}. {HELP}")


def checked(kind: type[T], value: object) -> T:
    """Return a value of that type: SQLite keeps any value in any column. Raise TypeError."""
    if not isinstance(value, kind):
        raise TypeError(f"a {type(value).__name__}")
    return value


@contextmanager
def decoding_entry(identity: object) -> Iterator[None]:
    """Turn errors of decoding an entry's row into JournalCorrupt with the entry's id."""
    try:
        yield
    except _UNREADABLE as error:
        raise of_entry(identity, "it cannot be read") from error


@contextmanager
def decoding(what: str, remedy: str = ANEW) -> Iterator[None]:
    """Turn errors of decoding derived rows into JournalCorrupt that names ``what``."""
    try:
        yield
    except _UNREADABLE as error:
        raise JournalCorrupt(f"{what} cannot be read: the file is damaged. {remedy}") from error
