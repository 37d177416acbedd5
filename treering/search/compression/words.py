"""Compression by the information of words: what says least goes first.

As in Selective Context (Li et al. 2023) and LLMLingua (Jiang et al. 2023), a word's information is
how hard it is to guess. Words go in the order of theirs until the rate is met. A word of a sentence
that shares words with the question is worth more. A number stays, with what it counts; a word that
denies stays or goes with what it denies, or the rest would say the opposite.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from treering.llm.tokens import estimate_tokens
from treering.search.compression.contract import CompressibleText, Span
from treering.search.terms import terms

Information = Callable[[Sequence[str]], list[list[float]]]
"""From texts to the bits of each of their words, as ``words`` cuts them."""

QUESTION_WEIGHT = 4.0
"""How much more a word of a sentence that has all of the question's words is worth."""

STOP_WORD_BITS = 0.1
"""Of words that tell nothing; above 0, so that they go last where the question is answered."""

ALWAYS = math.inf  # what must stay is worth

# Scripts without spaces are cut into clauses, since their characters say little by themselves.
_WORD = re.compile(r"[^\s。！？，、；]+[。！？，、；]*|[。！？，、；]+")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")
_PAUSE = re.compile(r"[,;:.!?…)\]。！？，、；]$")
_DIGIT = re.compile(r"\d")
_DENIES = re.compile(
    r"(?i)\W*(?:no|not|never|nor|neither|without|cannot|\w+n['’]t"
    r"|nicht|kein\w*|nie|ohne|ne|pas|jamais|sans|nunca|sin|jamás)\W*"
)


@dataclass(frozen=True, slots=True)
class _Unit:
    """Words that stay or go together: ``first`` to before ``last``, and what they are worth."""

    line: int
    first: int
    last: int
    tokens: float
    worth: float


def words(text: str) -> list[Span]:
    """Where the words of a text stand."""
    return [match.span() for match in _WORD.finditer(text)]


class WordCompressor:
    """Leaves out the words that say least, wherever in the passages they stand."""

    def __init__(self, information: Information) -> None:
        self._information = information

    def compress(self, passages: Sequence[CompressibleText], query: str, rate: float) -> list[str]:
        """See ``Compressor.compress``. Where their numbers need more, passages are longer."""
        bits = self._information([passage.text for passage in passages])
        asked = _terms(query)
        units = [
            (place, unit)
            for place, passage in enumerate(passages)
            for unit in _units(passage, bits[place], asked)
        ]
        kept: list[set[int]] = [set() for _ in passages]
        labels = [_label_tokens(passage) for passage in passages]  # of lines that show nothing yet
        room = rate * (
            sum(unit.tokens for _, unit in units) + sum(sum(of.values()) for of in labels)
        )
        for place, unit in sorted(units, key=lambda placed: -placed[1].worth):
            tokens = unit.tokens + labels[place].get(unit.line, 0)
            if unit.worth < ALWAYS and tokens > room:
                continue  # a shorter one, worth less, may still fit
            room -= tokens
            labels[place].pop(unit.line, None)
            kept[place].update(range(unit.first, unit.last))
        return [_joined(passage, kept[place]) for place, passage in enumerate(passages)]


def word_information(texts: Sequence[str]) -> list[list[float]]:
    """The bits of words by how often they stand in the texts themselves, without a model.

    A word at n of N places has log2(N / n) bits; what every text has, such as "the", next to none,
    unless it denies something.
    """
    named = [[_name(text[start:stop]) for start, stop in words(text)] for text in texts]
    counts = Counter(name for names in named for name in names)
    total = counts.total()
    return [
        [
            math.log2(total / counts[name])
            if _terms(name) or _DENIES.fullmatch(name)
            else STOP_WORD_BITS
            for name in names
        ]
        for names in named
    ]


@lru_cache(maxsize=1 << 14)
def _terms(text: str) -> frozenset[int]:
    """The terms of a text that search counts, too: without stop words and endings."""
    return frozenset(terms(text)[:, 0].tolist())


def _name(word: str) -> str:
    return word.strip(".,;:!?…\"'”’()[]。！？，、；").lower()


def _units(
    passage: CompressibleText, bits: Sequence[float], asked: frozenset[int]
) -> Iterator[_Unit]:
    text, places = passage.text, words(passage.text)
    for first, last in _sentences(text, places):
        said = _terms(text[places[first][0] : places[last - 1][1]])
        weight = 1 + QUESTION_WEIGHT * len(said & asked) / max(len(asked), 1)
        at = first
        while at < last:
            if _within(places[at], passage.labels):
                at += 1  # stays with its line, and costs nothing by itself
                continue
            stop = _end_of_unit(text, places, at, last)
            yield _unit(passage, places, bits, weight, at, stop)
            at = stop


def _unit(
    passage: CompressibleText,
    places: Sequence[Span],
    bits: Sequence[float],
    weight: float,
    first: int,
    last: int,
) -> _Unit:
    shown = passage.text[places[first][0] : places[last - 1][1]]
    tokens = max(estimate_tokens(shown), 1)
    line = passage.text.count("\n", 0, places[first][0])
    fixed = any(_within(place, passage.fixed) for place in places[first:last])
    if fixed or _DIGIT.search(shown):
        return _Unit(line, first, last, tokens, ALWAYS)
    return _Unit(line, first, last, tokens, weight * sum(bits[first:last]) / tokens)


def _label_tokens(passage: CompressibleText) -> dict[int, float]:
    """What it costs to say who speaks in a line, by line."""
    return {
        passage.text.count("\n", 0, start): estimate_tokens(passage.text[start:stop])
        for start, stop in passage.labels
    }


def _end_of_unit(text: str, places: Sequence[Span], first: int, last: int) -> int:
    """Behind a number and what it counts, a denial and what it denies; else behind the word."""
    word = text[slice(*places[first])]
    binds = _DIGIT.search(word) or _DENIES.fullmatch(word)
    if binds and first + 1 < last and not _PAUSE.search(word):
        return first + 2
    return first + 1


def _sentences(text: str, places: Sequence[Span]) -> Iterator[Span]:
    """The sentences of a text as ranges of its words; a line ends one, too."""
    first = 0
    for at, (start, stop) in enumerate(places, start=1):
        following = places[at][0] if at < len(places) else len(text)
        ends = _SENTENCE_END.search(text[start:stop]) or "\n" in text[stop:following]
        if ends or at == len(places):
            yield first, at
            first = at


def _within(place: Span, spans: Sequence[Span]) -> bool:
    return any(start < place[1] and place[0] < stop for start, stop in spans)


def _joined(passage: CompressibleText, kept: set[int]) -> str:
    """The words that are kept, with the white space and the ends of sentences between them."""
    text, places = passage.text, words(passage.text)
    if kept.issuperset(at for at, place in enumerate(places) if not _within(place, passage.labels)):
        return text
    lines = [text.count("\n", 0, start) for start, _ in places]
    with_text = {lines[at] for at in kept}
    joined, behind = "", 0
    for first, last in _sentences(text, places):
        for at in range(first, last):
            start, stop = places[at]
            named = _within(places[at], passage.labels) and lines[at] in with_text
            if at in kept or named:
                joined += _gap(text[behind:start]) if joined else ""
                joined += text[start:stop]
                behind = stop
        end = _SENTENCE_END.search(text[slice(*places[last - 1])])
        if end and behind > places[first][0] and last - 1 not in kept:
            joined = joined.rstrip(",;:") + end[0]  # its last word went, the sentence ends
    return joined


def _gap(between: str) -> str:
    if "\n" in between:
        return "\n"
    return " " if re.search(r"\s", between) else ""
