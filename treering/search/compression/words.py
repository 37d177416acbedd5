"""Compression by the information of words: what says least goes first.

As in Selective Context (Li et al. 2023) and LLMLingua (Jiang et al. 2023), a word's information is
how hard it is to guess. Words go in the order of theirs until the rate is met. A word of a sentence
that shares words with the question is worth more. A number stays, with what it counts. Words of
which one turns what the others say stay or go together (``bonds``).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from treering.llm.tokens import tokens_upto
from treering.search.compression.bonds import IsContent, bare, bonds, has_number, turns
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


@dataclass(frozen=True, slots=True)
class _Unit:
    """Words that stay or go together: ``first`` to before ``last``, and what they are worth."""

    line: int
    first: int
    last: int
    tokens: float
    worth: float


@dataclass(frozen=True, slots=True)
class _Layout:
    """The words of a passage: where they stand, in which line, and which must stay or are labels.

    ``labels`` are the tokens of the label of each line that has one. ``upto`` are the tokens of the
    text up to each of its characters.
    """

    text: str
    places: list[Span]
    upto: Sequence[float]
    line: list[int]
    is_fixed: list[bool]
    is_label: list[bool]
    labels: dict[int, float]

    @classmethod
    def of(cls, passage: CompressibleText) -> _Layout:
        text, places = passage.text, words(passage.text)
        upto = tokens_upto(text)
        behind = [0, *(stop for _, stop in places)]
        breaks = [text.count("\n", behind[at], start) for at, (start, _) in enumerate(places)]
        line = list(accumulate(breaks))
        is_label = _covered(places, passage.labels)
        labels: dict[int, float] = {}
        for at, (start, stop) in enumerate(places):
            if is_label[at]:
                labels[line[at]] = labels.get(line[at], 0) + upto[stop] - upto[start]
        return cls(text, places, upto, line, _covered(places, passage.fixed), is_label, labels)

    def words(self, first: int, last: int) -> str:
        """The text from one word to before another."""
        return self.text[self.places[first][0] : self.places[last - 1][1]]

    def tokens(self, first: int, last: int) -> float:
        """The tokens of the text from one word to before another, line breaks before it too."""
        behind = self.places[first - 1][1] if first else 0
        return self.upto[self.places[last - 1][1]] - self.upto[behind]


def _covered(places: Sequence[Span], spans: Sequence[Span]) -> list[bool]:
    """Which of the places touch one of the spans; both are in order."""
    ordered = sorted(spans)
    ends = list(accumulate((stop for _, stop in ordered), max))
    reach = [bisect_left(ordered, (stop, -1)) for _, stop in places]  # spans that begin before it
    return [at > 0 and ends[at - 1] > start for at, (start, _) in zip(reach, places, strict=True)]


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
        layouts = [_Layout.of(passage) for passage in passages]
        asked = _terms(query)
        is_content = cache(lambda word: len(_terms(word)) > 0)
        units = [
            (place, unit)
            for place, layout in enumerate(layouts)
            for unit in _units(layout, bits[place], asked, is_content)
        ]
        chosen: list[set[int]] = [set() for _ in passages]
        unpaid = [dict(layout.labels) for layout in layouts]  # of lines that show nothing yet
        labels = sum(sum(of_lines.values()) for of_lines in unpaid)
        room = rate * (sum(unit.tokens for _, unit in units) + labels)
        for place, unit in sorted(units, key=lambda placed: -placed[1].worth):
            tokens = unit.tokens + unpaid[place].get(unit.line, 0)
            if unit.worth < ALWAYS and tokens > room:
                continue  # a shorter one, worth less, may still fit
            room -= tokens
            unpaid[place].pop(unit.line, None)
            chosen[place].update(range(unit.first, unit.last))
        return [_joined(layout, chosen[place]) for place, layout in enumerate(layouts)]


def word_information(texts: Sequence[str]) -> list[list[float]]:
    """The bits of words by how often they stand in the texts themselves, without a model.

    A word at n of N places has log2(N / n) bits; what every text has, such as "the", next to none,
    unless it turns what is said, as "not" does.
    """
    named = [[bare(text[start:stop]) for start, stop in words(text)] for text in texts]
    counts = Counter(name for names in named for name in names)
    total = counts.total()
    bits = {
        name: math.log2(total / count) if _terms(name) or turns(name) else STOP_WORD_BITS
        for name, count in counts.items()
    }
    return [[bits[name] for name in names] for names in named]


def _terms(text: str) -> frozenset[int]:
    """The terms of a text that search counts, too: without stop words and endings."""
    return frozenset(terms(text)[:, 0].tolist())


def _units(
    layout: _Layout, bits: Sequence[float], asked: frozenset[int], is_content: IsContent
) -> Iterator[_Unit]:
    for first, last in _sentences(layout):
        held = _terms(layout.words(first, last))
        weight = 1 + QUESTION_WEIGHT * len(held & asked) / max(len(asked), 1)
        sentence = [layout.words(at, at + 1) for at in range(first, last)]
        bonded = bonds(sentence, is_content)
        at = first
        while at < last:
            if layout.is_label[at]:
                at += 1  # it stays where anything of its line does
                continue
            stop = at + 1
            while stop < last and bonded[stop - 1 - first] and _alike(layout, stop):
                stop += 1
            yield _unit(layout, bits, weight, at, stop)
            at = stop


def _alike(layout: _Layout, at: int) -> bool:
    """Whether a word is fixed if the one before it is: what is fixed is no part of a sentence."""
    return layout.is_fixed[at - 1] == layout.is_fixed[at]


def _unit(layout: _Layout, bits: Sequence[float], weight: float, first: int, last: int) -> _Unit:
    tokens = layout.tokens(first, last)
    stays = any(layout.is_fixed[first:last]) or has_number(layout.words(first, last))
    worth = ALWAYS if stays else weight * sum(bits[first:last]) / max(tokens, 1)
    return _Unit(layout.line[first], first, last, tokens, worth)


def _sentences(layout: _Layout) -> Iterator[Span]:
    """The sentences of a passage as ranges of its words; a line ends one, too."""
    first, size = 0, len(layout.places)
    for at in range(1, size + 1):
        if (
            at == size
            or layout.line[at] != layout.line[at - 1]
            or _SENTENCE_END.search(layout.words(at - 1, at))
        ):
            yield first, at
            first = at


def _joined(layout: _Layout, chosen: set[int]) -> str:
    """The chosen words, with the white space and the ends of sentences between them."""
    text, places = layout.text, layout.places
    if len(chosen) + sum(layout.is_label) == len(places):
        return text
    with_text = {layout.line[at] for at in chosen}
    parts: list[str] = []
    behind = 0
    for first, last in _sentences(layout):
        for at in range(first, last):
            start, stop = places[at]
            if at in chosen or (layout.is_label[at] and layout.line[at] in with_text):
                parts += [_gap(text[behind:start]) if parts else "", text[start:stop]]
                behind = stop
        end = _SENTENCE_END.search(layout.words(last - 1, last))
        if end and behind > places[first][0] and last - 1 not in chosen:
            parts[-1] = parts[-1].rstrip(",;:") + end[0]  # its last word went, the sentence ends
    return "".join(parts)


def _gap(between: str) -> str:
    if "\n" in between:
        return "\n"
    return " " if re.search(r"\s", between) else ""
