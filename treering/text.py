"""Text that can be stored, and how a turn is read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from difflib import get_close_matches
from unicodedata import normalize

from treering.errors import TextEncodingError

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def check_text(text: str, what: str, offset: int = 0) -> str:
    """The text, if it can be stored. Raises TextEncodingError for NUL and lone surrogates.

    ``offset`` is where the text begins in the whole that it is a part of; errors count from there.
    """
    if (nul := text.find("\0")) >= 0:
        raise TextEncodingError(
            f"{what} has a NUL character at offset {offset + nul}; remove it "
            "(is this a binary file?)"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextEncodingError(
            f"{what} has a lone surrogate {text[error.start]!r} at offset {error.start}; decode "
            "the original bytes with the right encoding"
        ) from error
    return text


def composed(name: str) -> str:
    """Return a name in Unicode form NFC: keyboards compose letters that macOS writes decomposed."""
    return normalize("NFC", name)


def storable(text: str) -> str:
    """Return a text with U+FFFD for NUL and lone surrogates, which no stored text has."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def shorten_source(source: str, most: int) -> str:
    """Return a source in ``most`` characters: its first part, such as an agent, and its end."""
    first = source.find("/") + 1
    first = first if first <= 2 * most // 3 else 0
    return source if len(source) <= most else f"{source[:first]}…{source[1 + first - most :]}"


def first_line(text: str) -> str:
    """Return the first line that is not blank, or an empty text."""
    return next((line for line in text.splitlines() if line.strip()), "")


def digest_number(text: str, bits: int = 64, *, signed: bool = True) -> int:
    """Return a number for a text. Indexes hold it, because they may keep the words of a row that
    was erased.
    """
    digest = hashlib.blake2b(text.encode(), digest_size=bits // 8).digest()
    return int.from_bytes(digest, "big", signed=signed)


def with_speaker(text: str, speaker: str | None) -> str:
    """A text as it is embedded and shown: a turn is understood better with its speaker."""
    return f"{speaker}: {text}" if speaker else text


def nearest_told(name: str, there: Iterable[str]) -> str:
    """Return the end of an error that suggests a name, such as ``, but there is 'home'``.

    The suggestion begins with ``name``, or is spelled like it, in any case. Without one the result
    is empty.
    """
    by_folded = {other.casefold(): other for other in there}
    typed = name.casefold()
    begun = [folded for folded in by_folded if typed and folded.startswith(typed)]
    near = begun or get_close_matches(typed, by_folded, 1)
    return f", but there is {by_folded[near[0]]!r}" if near else ""
