"""Text to terms: the words that lexical scoring counts, as 32-bit hashes.

Hashing needs no vocabulary table that would outlive an erased text. Two words of one space share
a hash with probability about V²/2³³: one pair in a vocabulary of 100,000.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from functools import lru_cache
from importlib import resources

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

Terms = NDArray[np.uint32]
"""Shape (n, 2): term hash and count, by hash."""

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_POSSESSIVE = re.compile(r"['’]s?$|['’]s$")
_STOP_WORD = -1
_stemmer = snowballstemmer.stemmer("english")
_stop_words = frozenset(
    resources.files("treering.score").joinpath("stop_words.txt").read_text("utf-8").split()
)


def terms(text: str) -> Terms:
    """The terms of a text with their counts; stop words are left out."""
    counts = Counter(map(_term, _WORD.findall(text.lower())))
    counts.pop(_STOP_WORD, None)
    return np.array(sorted(counts.items()), dtype=np.uint32).reshape(-1, 2)


@lru_cache(maxsize=1 << 17)  # a stem costs 20 µs, and half of all running words are the same few
def _term(word: str) -> int:
    if word in _stop_words:
        return _STOP_WORD
    stem = _stemmer.stemWord(_POSSESSIVE.sub("", word))
    return zlib.crc32(stem.encode())
