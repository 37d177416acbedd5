"""Takes a text apart into words, many times as fast as expressions do. No I/O.

Most texts state nothing, and most rules need a word that most texts do not have. So the words of a
text are what is looked at first, and that has to cost next to nothing.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import Final


def table(signs: str = "") -> bytes:
    """What makes blanks of all bytes but letters and some signs, and small letters of capitals."""
    small = {letter: letter.lower() for letter in string.ascii_letters} | {c: c for c in signs}
    return bytes(ord(small.get(chr(byte), " ")) for byte in range(256))


def runs(text: str, kept: bytes) -> list[str]:
    """The runs of what a :func:`table` keeps. Letters outside of ASCII part them."""
    return text.encode("utf-8", "replace").translate(kept).decode("ascii").split()


_LETTERS: Final = table()
_WORDS: Final = table(string.digits + "_")
_LOOK_ALIKE: Final = {"ı": "i", "İ": "i", "ſ": "s", "K": "k"}
"""Letters that an expression without case takes for those of ASCII."""

_LOOKS_ALIKE = re.compile(f"[{''.join(_LOOK_ALIKE)}]")


def words(text: str) -> list[str]:
    r"""The words of a text in small letters, to tell at once that an expression matches nowhere.

    Where ``\bword\b`` matches, in whatever case, "word" is among them. Outside of ASCII there may
    be more: "naïf" is "na" and "f".
    """
    return runs(_in_ascii(text), _WORDS)


def letter_runs(text: str) -> list[str]:
    """The runs of letters of a text, small. All of :func:`words` that have only letters, and more.

    "name12" is a word, and "name" is a run of letters.
    """
    return runs(_in_ascii(text), _LETTERS)


def _in_ascii(text: str) -> str:
    if text.isascii():
        return text
    return _LOOKS_ALIKE.sub(lambda match: _LOOK_ALIKE[match[0]], text)


def telling(phrases: Iterable[str], common: frozenset[str] = frozenset()) -> frozenset[str]:
    """The longest word of each phrase, or the longest that is not ``common``.

    A text that holds one of the phrases holds one of these.
    """
    return frozenset(
        max(words(phrase), key=lambda word: (word not in common, len(word))) for phrase in phrases
    )


def parted(text: str, pattern: re.Pattern[str], signs: Iterable[str]) -> list[str]:
    """``pattern.split(text)``, where each match of the pattern holds one of some signs."""
    return pattern.split(text) if has_any(text, signs) else [text]


def has_any(text: str, signs: Iterable[str]) -> bool:
    """Whether a text holds one of some signs; quicker than a generator where there are few."""
    for sign in signs:  # noqa: SIM110 -- ``any`` makes a generator, which costs as much again
        if sign in text:
            return True
    return False
