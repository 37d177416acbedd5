"""Words of any language, and their terms: stems as 32-bit hashes, which lexical scoring counts.

The script of a word gives its language, if one language or a few alike use it. For words in Latin
letters the function words of the text decide ("und", "pero"); without any they are English.

Hashing needs no vocabulary table that would outlive an erased text. Two words of one space share
a hash with probability about V²/2³³: one pair in a vocabulary of 100,000.
"""

from __future__ import annotations

import re
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from datetime import datetime
from functools import cache, lru_cache
from importlib import resources
from importlib.metadata import version
from itertools import chain, pairwise
from typing import Final

import numpy as np
import snowballstemmer
from numpy.typing import NDArray
from stop_words import get_stop_words

ENGLISH: Final = "english"

_LATIN: Final = (
    *("catalan", "danish", "dutch", "finnish", "french", "german", "hungarian", "indonesian"),
    *("italian", "norwegian", "portuguese", "romanian", "spanish", "swedish", "turkish"),
)
_SCRIPTS: Final = (
    # From a character to the one that ends its blocks, and the language whose endings are taken
    # off. Ukrainian, Marathi and Persian lose those that they share with it.
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
    ("\u1f00", "\u1fff", "greek"),
)
_UNSPACED: Final = (
    # Thai, Lao, Myanmar, Khmer; Chinese, Japanese; Hangul, whose particles stick to their words.
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_HAN: Final = ("\u3400", "\u9fff", "\U00020000")
"""The first and last Han character of the basic plane, and the first beyond it."""
_LETTER: Final = rf"(?:(?![{_UNSPACED}])\w|[\u0300-\u036f\u0900-\u0dff])"  # or a mark of one
_BEGIN: Final = rf"(?:(?=[{_UNSPACED}])|(?<!{_LETTER})(?<!\d[.,:'](?=\d)))"
_END: Final = rf"(?:(?<=[{_UNSPACED}])|(?!{_LETTER})(?!(?<=\d)[.,:']\d))"
LATIN: Final = 0.5  # the share of Latin letters in an English text
_LATIN_END: Final = "\u0250"
_MARKED: Final = (
    # Where combining marks are: looking through all characters takes fifty times as long.
    *(
        (0x300, 0x1E00),
        (0x20D0, 0x20F1),
        (0x2CEF, 0x2E00),
        (0x302A, 0x3030),
        (0x3099, 0x309B),
        (0xA66F, 0xABEE),
    ),
    *((0xFB1E, 0xFB1F), (0xFE00, 0xFE30), (0x10A01, 0x11F04), (0x1E000, 0x1E94B)),
)
_UNSEEN: Final = "\u00ad\u200d"
"""In the middle of a word, where it may be broken and where letters join: not of its spelling."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ASCII_WORD = re.compile(r"\w+(?:'\w+)*")


def plain(text: str) -> str:
    """Return a text in small letters, with one form for compatible characters."""
    text = text.replace("’", "'")
    if text.isascii():
        return _HUMP.sub(" ", text).lower()
    text = unicodedata.normalize("NFKC", text)
    for character in _UNSEEN:
        text = text.replace(character, "")
    # The small form of the Turkish "İ" is an "i" with a second dot, which people do not type.
    return _HUMP.sub(" ", text).lower().replace("i\u0307", "i")


def words_of(text: str) -> list[str]:
    """Return the words of a ``plain`` text; a run of letters of an unspaced script is one."""
    return (_ASCII_WORD if text.isascii() else _word()).findall(text)


def spans_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield the place of each word of any text, and of each two letters in an unspaced script."""
    for match in (_ASCII_WORD if text.isascii() else _word()).finditer(text):
        start, stop = match.span()
        if is_unspaced(match[0]):
            yield from ((at, min(at + 2, stop)) for at in range(start, max(stop - 1, start + 1)))
        else:
            yield start, stop


@cache
def _word() -> re.Pattern[str]:
    """Return the pattern of words outside ASCII, with marks and unseen characters, unlike ``\\w``.

    Without them a word in Hindi falls to pieces at each vowel sign.
    """
    letter = rf"[^\W{_UNSPACED}]"
    mark = f"[{_marks()}{_UNSEEN}]"
    return re.compile(rf"[{_UNSPACED}]+|{letter}(?:{letter}|{mark})*(?:'(?:{letter}|{mark})+)*")


def _marks() -> str:
    """Return the combining marks as ranges of a character class, which compile faster."""
    is_unspaced = _unspaced_letter().match
    codes = [
        code
        for code in chain.from_iterable(range(*bounds) for bounds in _MARKED)
        if unicodedata.category(chr(code))[0] == "M" and not is_unspaced(chr(code))
    ]
    is_first = [at == 0 or codes[at - 1] != code - 1 for at, code in enumerate(codes)]
    starts = [at for at, first in enumerate(is_first) if first]
    stretches = pairwise([*starts, len(codes)])
    return "".join(f"{chr(codes[first])}-{chr(codes[stop - 1])}" for first, stop in stretches)


def is_unspaced(word: str) -> bool:
    """Return whether a word is of a script without spaces between words."""
    return not word.isascii() and bool(_unspaced_letter().match(word))


@cache
def _unspaced_letter() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]")


def pairs(run: str) -> list[str]:
    """Return each two letters of a run without spaces that are side by side."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def grams(run: str) -> list[str]:
    """Return the terms of a run without spaces: its pairs, and each Han character.

    A Han character is a word or a part of one; a single letter of another script says nothing.
    """
    return pairs(run) + [letter for letter in run if len(run) > 1 and _is_han(letter)]


def _is_han(letter: str) -> bool:
    return _HAN[0] <= letter <= _HAN[1] or letter >= _HAN[2]


def language_of(words: Set[str]) -> str:
    """Return the language of the Latin words among the different words of a text.

    A language needs two function words, or one and a letter that English lacks, and more function
    words than English.
    """
    languages = function_words()
    evidence = words & _foreign_words()
    if not evidence:
        return ENGLISH
    votes = Counter(language for word in evidence for language in languages[word])
    # Of two with as many votes the later name: German before Dutch, Spanish before Catalan.
    language, most = max(votes.items(), key=lambda vote: (vote[1], vote[0]))
    is_enough = most > 1 or any(map(_is_foreign, words))
    return language if is_enough and most > len(words & stop_words()) else ENGLISH


def is_english(text: str) -> bool:
    """Return whether a text is in Latin letters without a sign of another language."""
    letters = "" if text.isascii() else [letter for letter in text if letter.isalpha()]
    latin = sum(letter < _LATIN_END for letter in letters)
    is_latin = not letters or latin > LATIN * len(letters)
    return is_latin and language_of(set(words_of(plain(text)))) == ENGLISH


def _is_foreign(word: str) -> bool:
    return not word.isascii() and word[0] < _LATIN_END


@cache
def function_words() -> dict[str, tuple[str, ...]]:
    """Return the languages of each function word, without the stop words of English."""
    languages: dict[str, tuple[str, ...]] = {}
    for language in _LATIN:
        for word in get_stop_words(language):
            # A letter may be anything: an initial, a variable, a vitamin.
            if len(word) > 1 and word not in stop_words():
                languages[word] = (*languages.get(word, ()), language)
    return languages


@cache
def _foreign_words() -> frozenset[str]:
    return frozenset(function_words())


@cache
def stop_words() -> frozenset[str]:
    """English words that search leaves out.

    Snowball's list. It keeps "may", a month; lists three times as long cost 1 to 2 points of
    recall.
    """
    return frozenset(
        resources.files("treering.search").joinpath("stop_words.txt").read_text("utf-8").split()
    )


def language_by_script(word: str, language: str) -> str:
    """Return the language of the endings of a word in a text of ``language``."""
    if word.isascii():
        return language
    first = word[0]
    for start, stop, of_script in _SCRIPTS:
        if start <= first <= stop:
            return of_script
    return language


class _Stemmers(threading.local):
    """Snowball's stemmers, those of each thread: one keeps the word it works on in itself."""

    def __init__(self) -> None:
        self.by_language = {ENGLISH: snowballstemmer.stemmer(ENGLISH).stemWord}

    def stem(self, word: str, language: str) -> str:
        stem = self.by_language.get(language)
        if stem is None:
            stem = self.by_language[language] = snowballstemmer.stemmer(language).stemWord
        stemmed: str = stem(word)
        return stemmed


_stemmers = _Stemmers()


def stem(word: str, language: str = ENGLISH) -> str:
    """Return a word in small letters without its ending in a language."""
    return _stemmers.stem(word, language)


def find_words(words: str, text: str) -> re.Match[str] | None:
    """Find whole words in a text, with any white space between; None if ``words`` is blank.

    In scripts without spaces any place will do. A part of a number is not a word: 12 in "12.5".
    """
    pattern = r"\s+".join(map(re.escape, words.split()))
    return re.search(f"{_BEGIN}{pattern}{_END}", text) if pattern else None


Terms = NDArray[np.uint32]
"""Shape (n, 2): term hash and count, by hash."""

NO_TERMS: Final[Terms] = np.zeros((0, 2), dtype=np.uint32)

_STOP_WORD = -1  # in place of a hash

RULES: Final = "1"
"""The version of the rules by which texts become terms; a test says when to raise it."""

ASKS = "questionmarkinside"
"""The word by which the index knows the fragments that have a question mark."""

_QUESTION_MARKS = re.compile("[?\uff1f\u061f]")

# strftime would follow the machine's language.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def terms(text: str) -> Terms:
    """Return the terms of a text with their counts, without English stop words."""
    counts = Counter(_hashes(text))
    counts.pop(_STOP_WORD, None)
    return np.array(sorted(counts.items()), dtype=np.uint32).reshape(-1, 2)


def query_terms(query: str) -> Terms:
    """Return the terms of a query, without the function words of its language.

    Those of English are in no terms. Others stay in the index, as a text may be in two languages,
    and in a small space such a word is as rare as any other.
    """
    words = words_of(plain(query))
    language = language_of(set(words))
    functions = function_words()
    content = [word for word in words if language not in functions.get(word, ())]
    if language == ENGLISH or not content:
        return terms(query)
    counts = Counter(_hashes(" ".join(content), language))
    counts.pop(_STOP_WORD, None)
    return np.array(sorted(counts.items()), dtype=np.uint32).reshape(-1, 2)


@cache
def terms_version() -> str:
    """Return the version of the rules here and of what they rest on; another needs a rebuild."""
    rests_on = [version(name) for name in ("snowballstemmer", "stop-words")]
    return ".".join([RULES, *rests_on, unicodedata.unidata_version])


def words(text: str) -> frozenset[str]:
    """Return the words of a name or query as they are, for matching names."""
    return frozenset(words_of(plain(text)))


def shared_words(text: str, query: str) -> list[tuple[int, int]]:
    """Return the starts and ends of the words of a text that share a term with a query."""
    looked_for = set(_hashes(query, split=pairs)) - {_STOP_WORD}
    language = language_of(set(words_of(plain(text))))
    spans: list[tuple[int, int]] = []
    for start, stop in spans_of(text):
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
    split: Callable[[str], list[str]] = grams,
) -> Iterable[int]:
    """Return the terms of each word of a text; ``split`` makes those of a run without spaces.

    A word of another language has two, if they differ: without its ending there, and as in English.
    So a name or a few words, whose language is unknown, are found in such a text.
    """
    words = words_of(plain(text))
    language = language or language_of(set(words))
    hashed, in_english = _hash_function(language), _hash_function(ENGLISH)
    if text.isascii() and language == ENGLISH:
        return map(hashed, words)
    parts = chain.from_iterable(split(word) if is_unspaced(word) else (word,) for word in words)
    if language == ENGLISH:
        return map(hashed, parts)
    return chain.from_iterable({hashed(part), in_english(part)} for part in parts)


@cache
def _hash_function(language: str) -> Callable[[str], int]:
    """Return a function from a word in a text of a language to its term, or ``_STOP_WORD``."""
    left_out = stop_words()

    @lru_cache(maxsize=1 << 17)  # a stem costs 13 µs, and half of all running words are the same
    def hashed(word: str) -> int:
        if word in left_out:  # before the apostrophe goes: "we'll" is not "well"
            return _STOP_WORD
        bare = word.removesuffix("'s").replace("'", "")
        return zlib.crc32(stem(bare, language_by_script(bare, language)).encode())

    return hashed
