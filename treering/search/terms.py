"""Text to terms: the words that lexical scoring counts, as 32-bit hashes.

Hashing needs no vocabulary table that would outlive an erased text. Two words of one space share
a hash with probability about V²/2³³: one pair in a vocabulary of 100,000.
"""

from __future__ import annotations

import hashlib
import re
import threading
import zlib
from collections import Counter
from datetime import datetime
from functools import lru_cache
from importlib import resources

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

Terms = NDArray[np.uint32]
"""Shape (n, 2): term hash and count, by hash."""

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"\w+(?:'\w+)*")
_STOP_WORD = -1
_PROBES = (
    "running runs ran runner happily happiness generously generalizations relational conditional",
    "hopping hoped hopeful skies dying lying news cats ponies caresses agreed plastered motoring",
    "conflated troubled sized falling hissing failing filing adjustable adoption communism skis",
    "Ana's we'll O'Brien don't parseHTTPResponse retry_when_busy café Straße 東京 Москва 2026 3.14",
)
"""Words with the endings that stemmers differ in, and those of the shapes that splitting knows."""
# strftime would follow the machine's language.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
# Snowball's list. It keeps "may", a month; lists three times as long cost 1 to 2 points of recall.
_stop_words = frozenset(
    resources.files("treering.search").joinpath("stop_words.txt").read_text("utf-8").split()
)


class _Stemmer(threading.local):
    """Snowball's stemmer, one for each thread: it keeps the word it works on in itself."""

    def __init__(self) -> None:
        self.stem = snowballstemmer.stemmer("english").stemWord


_stemmer = _Stemmer()


def terms(text: str) -> Terms:
    """The terms of a text with their counts; stop words are left out."""
    counts = Counter(map(_term, _WORD.findall(_plain(text))))
    counts.pop(_STOP_WORD, None)
    return np.array(sorted(counts.items()), dtype=np.uint32).reshape(-1, 2)


@lru_cache(maxsize=1)
def terms_version() -> str:
    """What terms are made by, as a short digest: another stemmer, stop list or hash changes it.

    The digest is of the probes' terms. A release of the stemming library that leaves them alone
    therefore makes no rebuild due.
    """
    probed = b"".join(terms(probe).tobytes() for probe in (*_PROBES, " ".join(sorted(_stop_words))))
    return hashlib.sha256(probed).hexdigest()[:12]


def stem(word: str) -> str:
    """A lower-case word without its ending."""
    stemmed: str = _stemmer.stem(word)
    return stemmed


def words(text: str) -> frozenset[str]:
    """The words of a name or query as they are, for matching names."""
    return frozenset(_WORD.findall(_plain(text)))


def shared_words(text: str, query: str) -> list[tuple[int, int]]:
    """Where the words of a text stand that have a term in common with a query: starts and ends."""
    looked_for = _terms_of(query)
    return [match.span() for match in _WORD.finditer(text) if _terms_of(match[0]) & looked_for]


def dated(text: str, at: datetime | None) -> str:
    """A text with its date in words, so that "in May" finds what was said in May."""
    return f"{text} {at.day} {_MONTHS[at.month - 1]} {at.year}" if at else text


def _terms_of(text: str) -> set[int]:
    return set(map(_term, _WORD.findall(_plain(text)))) - {_STOP_WORD}


def _plain(text: str) -> str:
    return _HUMP.sub(" ", text.replace("’", "'")).lower()


@lru_cache(maxsize=1 << 17)  # a stem costs 13 µs, and half of all running words are the same few
def _term(word: str) -> int:
    if word in _stop_words:  # before the apostrophe goes: "we'll" is not "well"
        return _STOP_WORD
    stem = _stemmer.stem(word.removesuffix("'s").replace("'", ""))
    return zlib.crc32(stem.encode())
