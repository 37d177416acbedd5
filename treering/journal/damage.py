"""Damage: what a file gives back is compared with what was stored; damaged text is never shown."""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from json.encoder import encode_basestring
from typing import Final, Protocol, Self, TypeVar

from treering import forks
from treering.errors import JournalCorrupt

T = TypeVar("T")

HELP: Final = (
    "`treering doctor` names all that is damaged, `treering export` gives the rest, and "
    "`treering forget ID` removes an entry; restore a copy of the file if there is one"
)
ANEW: Final = "`treering export` and `treering import` into a new file make it anew"
"""What helps where only something derived is damaged."""

_quoted: Final = encode_basestring
"""A text as JSON writes it, but for what is not ASCII, which stays."""

_NO_KEY: Final = ', ""]'
MIN_KEYS: Final = 1 << 12  # imports may have counted lines that were there already
_UNREADABLE: Final = (
    *(TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError),
    *(RecursionError, FloatingPointError, zlib.error),
)
"""What decoding raises when a row does not hold what was put there."""

Content = tuple[str, str, str | None, str | None, str | None, str, int | None]
"""What a digest is of, besides a key: text, kind, speaker, role, session, metadata and time."""


class _Hash(Protocol):
    """A hash under way, as ``hashlib`` has them."""

    def copy(self) -> Self: ...

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


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
    if stored == _ended(begun, "") or stored == _ended(begun, identity):
        return True
    return _repetitions.has_number(begun, stored, max(seq, MIN_KEYS))


class Repetitions:
    """Which repetition of its content a digest is, for digests that were looked up before.

    The n-th of equal entries has the key n, which would cost n hashes at every read of it, and a
    damaged entry has no key, which costs all that are possible. What is noted here are digests and
    numbers, never text, and about ``capacity`` of them: with more it begins again.
    """

    def __init__(self, capacity: int = 1 << 16) -> None:
        self._capacity = capacity
        self._begin()
        forks.renew_in_child(self, Repetitions._begin)

    def __len__(self) -> int:
        """How many digests are noted."""
        return self._size

    def _begin(self) -> None:
        self._lock = threading.Lock()  # protects what follows
        self._contents: dict[bytes, _Numbers] = {}
        self._size = 0

    def has_number(self, begun: _Hash, stored: bytes, stop: int) -> bool:
        """Whether a digest is that of a content whose key is a number from 1 to below ``stop``.

        ``begun`` is the hash of the content without a key; it is not changed.
        """
        with self._lock:
            if self._size >= self._capacity:
                self._contents.clear()
                self._size = 0
            content = begun.digest()
            numbers = self._contents.get(content)
            if numbers is None:
                numbers = self._contents[content] = _Numbers(self._capacity // 2)
                self._size += 1
            size = len(numbers)
            number = numbers.find(begun, stored, stop)
            self._size += len(numbers) - size
            return number is not None and 0 < number < stop


class _Numbers:
    """The digests of one content under the keys 1, 2, 3 …, as far as they were needed."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._by_digest: dict[bytes, int] = {}  # of all numbers from 1 to its length
        self._last = 0  # the number found last, where that is greater
        self._refused: dict[bytes, int] = {}  # digests that are those of no number below

    def __len__(self) -> int:
        return len(self._by_digest) + len(self._refused)

    def find(self, begun: _Hash, stored: bytes, stop: int) -> int | None:
        """The number whose digest this is; None if it is that of no number below ``stop``."""
        if stored in self._by_digest:
            return self._by_digest[stored]
        # Beyond what is noted, equal entries are still read one after another, or the same again.
        if self._last:
            for number in (self._last, self._last + 1, self._last - 1):
                if _ended(begun, str(number)) == stored:
                    self._last = number
                    return number
        return self._search(begun, stored, stop)

    def _search(self, begun: _Hash, stored: bytes, stop: int) -> int | None:
        new: dict[bytes, int] = {}  # noted only if something is found: else it is of no use
        noted = len(self._by_digest)
        for number in range(max(noted + 1, self._refused.get(stored, 0)), stop):
            tried = _ended(begun, str(number))
            # Without gaps, so that what is noted says where the next search begins.
            if number == noted + len(new) + 1 and number <= self._capacity:
                new[tried] = number
            if tried == stored:
                self._by_digest.update(new)
                if number > len(self._by_digest):
                    self._last = number
                return number
        if stop > self._refused.get(stored, 0):
            self._refused[stored] = stop
        return None


_repetitions: Final = Repetitions()


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


def _ended(begun: _Hash, key: str) -> bytes:
    """The digest of a content whose hash has begun, under a key."""
    whole = begun.copy()
    whole.update(_tail(key).encode())
    return whole.digest()


def _head(content: Content) -> str:
    """The content as a list in JSON that does not end, with texts as they are.

    Put together here: an encoder takes three times as long to begin and to look at each type, and
    every entry that is stored or read comes by.
    """
    text, kind, speaker, role, session, metadata, at = content
    return (
        f"[{_quoted(text)}, {_quoted(kind)}, {_optional(speaker)}, {_optional(role)}, "
        f"{_optional(session)}, {_quoted(metadata)}, {'null' if at is None else checked(int, at)}"
    )


def _optional(text: str | None) -> str:
    return "null" if text is None else _quoted(text)


def _tail(key: str) -> str:
    return f", {_quoted(key)}]" if key else _NO_KEY
