"""Text to terms: the words that lexical scoring counts, as 32-bit hashes.

Hashing needs no vocabulary table that would outlive an erased text. Two words of one space share
a hash with probability about V²/2³³: one pair in a vocabulary of 100,000.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache, lru_cache
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from treering.search import languages

Terms = NDArray[np.uint32]
"""Shape (n, 2): term hash and count, by hash."""

_STOP_WORD, _TEXT_END, _SEVERAL = -1, -2, -3
"""In place of a hash: a stop word, the end of a text, words that are written as one."""

_FOREIGN = 1 << 32
"""Above the hash of a word that is a function word of another language."""

_END = "\0"
"""Between texts that do not contain it."""

_BETWEEN = f" {_END} "
_SPACES = {code: " " for code in range(1, 128) if not (chr(code).isalnum() or chr(code) in "_'")}
"""Turns the characters between words of ASCII into spaces."""

ASKS = "questionmarkinside"
"""The word by which the index knows the fragments that have a question mark."""

_QUESTION_MARKS = re.compile("[?\uff1f\u061f]")

_MOST_KEYS = 1 << 17
_PROBES = (
    "running runs ran runner happily happiness generously generalizations relational conditional",
    "hopping hoped hopeful skies dying lying news cats ponies caresses agreed plastered motoring",
    "conflated troubled sized falling hissing failing filing adjustable adoption communism skis",
    "Ana's we'll O'Brien don't parseHTTPResponse retry_when_busy café Straße 東京 Москва 2026 3.14",
    "Do\u00adnau İstanbul",
    "Wir wohnten in schönen Häusern und liefen",
    "Las niñas corrían por los jardines",
    "Девочки бегали по садам; книги читали",
    "लड़कियाँ बगीचों में दौड़ती थीं",
    "كانت الفتيات يركضن في الحدائق",
    "τα κορίτσια έτρεχαν στους κήπους",
    "我昨天在公园里跑步 東京タワーへ行きました 저는 서울에 살아요 ฉันชอบกินข้าวผัด ①",
    ASKS,
)
"""Words with endings in which stemmers differ, and of the shapes that splitting knows."""
# strftime would follow the machine's language.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def terms(text: str) -> Terms:
    """Return the terms of a text with their counts, without English stop words."""
    # Not by ``terms_of``: arrays of ten words cost more than the words do.
    counts = Counter(_hashes(text))
    counts.pop(_STOP_WORD, None)
    return np.array(sorted(counts.items()), dtype=np.uint32).reshape(-1, 2)


def query_terms(query: str) -> Terms:
    """Return the terms of a query, without the function words of its language.

    Those of English are in no terms. Others stay in the index, as a text may be in two languages,
    and in a small space such a word is as rare as any other.
    """
    words = languages.words_of(languages.plain(query))
    language = _language(words)
    functions = languages.function_words()
    content = [word for word in words if language not in functions.get(word, ())]
    if language == languages.ENGLISH or not content:
        return terms(query)
    counts = Counter(_hashes(" ".join(content), language))
    counts.pop(_STOP_WORD, None)
    return np.array(sorted(counts.items()), dtype=np.uint32).reshape(-1, 2)


def terms_of(texts: Sequence[str]) -> list[Terms]:
    """Return the ``terms`` of each of some texts."""
    if not texts:
        return []
    keys, text = _in_english(texts)
    # Two function words of other languages may make a text of ASCII one of them.
    foreign = np.bincount(text[keys >= _FOREIGN], minlength=len(texts))
    alone = {*np.flatnonzero(foreign > 1).tolist(), *text[keys == _SEVERAL].tolist()}
    alone.update(place for place, of_text in enumerate(texts) if not _is_joinable(of_text))
    is_term = keys >= 0
    if alone:
        is_term &= ~np.isin(text, list(alone))
    # The place of a text above the hash of a word: one sort counts all.
    term = keys[is_term] & (_FOREIGN - 1)
    # Sorted by text already, so that a stable sort has little to do.
    every = np.sort(text[is_term] << 32 | term, kind="stable")
    first = np.flatnonzero(np.diff(every, prepend=-1))
    flat, counts = every[first], np.diff(first, append=len(every))
    columns = np.stack([flat & (_FOREIGN - 1), counts], axis=1).astype(np.uint32)
    bounds = np.searchsorted(flat, np.arange(len(texts) + 1) << 32).tolist()
    counted = [columns[start:stop] for start, stop in pairwise(bounds)]
    for place in alone:
        counted[place] = terms(texts[place])
    return counted


def _in_english(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the words of texts as if all were English and ASCII, and the place of each one's text.

    A word is ``_STOP_WORD``, ``_SEVERAL`` or its hash, with ``_FOREIGN`` added if it is a function
    word of another language. One call splits all texts, and each spelling is hashed once.
    """
    joined = _BETWEEN.join(text if _is_joinable(text) else "" for text in texts)
    words = joined.translate(_SPACES).split()
    keys = np.array(list(map(_keys().__getitem__, words)), dtype=np.int64)
    return keys, np.cumsum(keys == _TEXT_END)


def _is_joinable(text: str) -> bool:
    return text.isascii() and _END not in text


class _Keys(dict[str, int]):
    """The keys of ``_in_english`` by spelling, for about ``_MOST_KEYS`` spellings."""

    def __missing__(self, written: str) -> int:
        if len(self) > _MOST_KEYS:
            self.clear()
        self[written] = key = _key(written)
        return key


def _key(written: str) -> int:
    if written == _END:
        return _TEXT_END
    words = languages.words_of(languages.plain(written))
    if len(words) != 1:
        return _SEVERAL if words else _STOP_WORD  # such as "parseText", and a lone apostrophe
    hashed = _hash_function(languages.ENGLISH)(words[0])
    return hashed | _FOREIGN if languages.is_foreign(words[0]) else hashed


@cache
def _keys() -> _Keys:
    return _Keys()


@lru_cache(maxsize=1)
def terms_version() -> str:
    """Return a short digest that another stemmer, list of words or hash changes.

    It is of the probes' terms and of the function words of languages, so a release of the stemming
    library that leaves them alone needs no rebuild.
    """
    stop_words = " ".join(sorted(languages.stop_words()))
    probed = b"".join(terms(probe).tobytes() for probe in (*_PROBES, stop_words))
    lists = repr(sorted(languages.function_words().items()))
    return hashlib.sha256(probed + lists.encode()).hexdigest()[:12]


def stem(word: str) -> str:
    """Return an English word in small letters without its ending."""
    return languages.stem(word)


def words(text: str) -> frozenset[str]:
    """Return the words of a name or query as they are, for matching names."""
    return frozenset(languages.words_of(languages.plain(text)))


def shared_words(text: str, query: str) -> list[tuple[int, int]]:
    """Return the starts and ends of the words of a text that share a term with a query."""
    looked_for = set(_hashes(query, split=languages.pairs)) - {_STOP_WORD}
    language = _language(languages.words_of(languages.plain(text)))
    spans: list[tuple[int, int]] = []
    for start, stop in languages.spans_of(text):
        if looked_for.intersection(_hashes(text[start:stop], language)):
            if spans and start < spans[-1][1]:  # two pairs of letters that share one
                start = spans.pop()[0]
            spans.append((start, stop))
    return spans


def index_text(text: str, at: datetime | None) -> str:
    """Return the text of a fragment for the index: with its date in words, so that "in May" finds
    it, and with ``ASKS`` if it has a question mark.
    """
    date = f" {at.day} {_MONTHS[at.month - 1]} {at.year}" if at else ""
    return f"{text}{date} {ASKS}" if _QUESTION_MARKS.search(text) else text + date


def _hashes(
    text: str,
    language: str | None = None,
    split: Callable[[str], list[str]] = languages.grams,
) -> Iterable[int]:
    """Return the terms of each word of a text; ``split`` makes those of a run without spaces.

    A word of another language has two, if they differ: without its ending there, and as in English.
    So a name or a few words, whose language is unknown, are found in such a text.
    """
    words = languages.words_of(languages.plain(text))
    language = language or _language(words)
    hashed, in_english = _hash_function(language), _hash_function(languages.ENGLISH)
    if text.isascii() and language == languages.ENGLISH:
        return map(hashed, words)
    parts = chain.from_iterable(
        split(word) if languages.is_unspaced(word) else (word,) for word in words
    )
    if language == languages.ENGLISH:
        return map(hashed, parts)
    return chain.from_iterable({hashed(part), in_english(part)} for part in parts)


def _language(words: Iterable[str]) -> str:
    return languages.language_of(set(words))


@cache
def _hash_function(language: str) -> Callable[[str], int]:
    """Return a function from a word in a text of a language to its term, or ``_STOP_WORD``."""
    stop_words = languages.stop_words()

    @lru_cache(maxsize=1 << 17)  # a stem costs 13 µs, and half of all running words are the same
    def hashed(word: str) -> int:
        if word in stop_words:  # before the apostrophe goes: "we'll" is not "well"
            return _STOP_WORD
        bare = word.removesuffix("'s").replace("'", "")
        stem = languages.stem(bare, languages.language_by_script(bare, language))
        return zlib.crc32(stem.encode())

    return hashed
