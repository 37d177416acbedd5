"""Compression by the information of words: the sentences and clauses that say least go first.

As in Selective Context (Li et al. 2023) and LLMLingua (Jiang et al. 2023), a word's information is
how hard it is to guess. What stays or goes is a whole sentence or clause (``clauses``): it is worth
the information of its words a token, more where it shares words with the question, and more the
higher its text ranks.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from treering.llm.tokens import tokens_upto
from treering.search.compression.clauses import (
    bare,
    clauses,
    end_mark,
    ends,
    fillers,
    points_back,
    takes_up,
)
from treering.search.compression.contract import CompressibleText, Span
from treering.search.terms import terms

Information = Callable[[Sequence[str]], list[list[float]]]
"""From texts to the bits of each of their words, as ``words`` cuts them."""

QUESTION_WEIGHT = 1.0
"""How much more a sentence that has all of the question's words is worth."""

RANK_POWER = 1.0
"""What the hit at place n, from 1, says is worth 1 / n to this power of what the first says."""

STOP_WORD_BITS = 0.1
"""Of words that tell nothing."""

ALWAYS = math.inf  # what must stay is worth
NOTHING = 0.0  # fillers are worth

# Scripts without spaces are cut into clauses, since their characters say little by themselves.
_WORD = re.compile(r"[^\s。！？，、；]+[。！？，、；]*|[。！？，、；]+")


@dataclass(frozen=True, slots=True)
class _Unit:
    """Words that stay or go together, and what they are worth for each of their tokens.

    They stay only where the word ``needs`` does, that of the clause or sentence they hang on.
    """

    words: list[int]
    tokens: float
    worth: float
    needs: int | None = None

    def with_words_of(self, other: _Unit) -> _Unit:
        """Both as one, with what the first needs."""
        tokens = self.tokens + other.tokens
        total = self.worth * self.tokens + other.worth * other.tokens
        self.words.extend(other.words)  # in place: a long chain takes linear time
        return replace(self, tokens=tokens, worth=total / max(tokens, 1))


@dataclass(frozen=True, slots=True)
class _Layout:
    """The words of a passage: where they stand, and which are fixed or labels.

    ``turn`` numbers what was said at once: a label or a hit on a line of its own begins the next.
    ``labels`` are the tokens of the label of each turn that has one, ``rank`` the place of each
    word in the ranking, ``upto`` the tokens of the text up to each of its characters.
    """

    text: str
    places: list[Span]
    upto: Sequence[float]
    turn: list[int]
    rank: list[int]
    is_fixed: list[bool]
    is_label: list[bool]
    labels: dict[int, float]

    @classmethod
    def of(cls, passage: CompressibleText) -> _Layout:
        text, places = passage.text, words(passage.text)
        upto = tokens_upto(text)
        is_label = _covered(places, passage.labels)
        heads = {start for (start, _), _ in passage.hits} | {start for start, _ in passage.labels}
        begins = [
            start in heads and "\n" in text[places[at - 1][1] if at else 0 : start]
            for at, (start, _) in enumerate(places)
        ]
        turn = list(accumulate(int(begin) for begin in begins))
        labels: dict[int, float] = {}
        for at, (start, stop) in enumerate(places):
            if is_label[at]:
                labels[turn[at]] = labels.get(turn[at], 0) + upto[stop] - upto[start]
        rank = _ranks(places, passage)
        fixed = _covered(places, passage.fixed)
        return cls(text, places, upto, turn, rank, fixed, is_label, labels)

    def words(self, first: int, last: int) -> str:
        """The text from one word to before another."""
        return self.text[self.places[first][0] : self.places[last - 1][1]]

    def gap(self, at: int) -> str:
        """The white space before a word that is not the first."""
        return self.text[self.places[at - 1][1] : self.places[at][0]]

    def tokens(self, at: int) -> float:
        """The tokens of a word, with the white space before it."""
        behind = self.places[at - 1][1] if at else 0
        return self.upto[self.places[at][1]] - self.upto[behind]


def _ranks(places: Sequence[Span], passage: CompressibleText) -> list[int]:
    """The best place in the ranking of what each word stands in; of the rest the best of all."""
    best = min((rank for _, rank in passage.hits), default=0)
    ranks = [best] * len(places)
    starts = [start for start, _ in places]
    for (start, stop), rank in sorted(passage.hits, key=lambda hit: -hit[1]):
        first, last = bisect_left(starts, start), bisect_left(starts, stop)
        ranks[first:last] = [rank] * (last - first)
    return ranks


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
    """Leaves out the sentences and clauses that say least, wherever in the passages they stand."""

    def __init__(self, information: Information) -> None:
        self._information = information

    def compress(self, passages: Sequence[CompressibleText], query: str, rate: float) -> list[str]:
        """See ``Compressor.compress``. It keeps no more than ``rate``, but for what is fixed."""
        bits = self._information([passage.text for passage in passages])
        layouts = [_Layout.of(passage) for passage in passages]
        asked = _terms(query)
        units = [
            (place, unit)
            for place, layout in enumerate(layouts)
            for unit in _units(layout, bits[place], asked)
        ]
        chosen: list[set[int]] = [set() for _ in passages]
        unpaid = [dict(layout.labels) for layout in layouts]  # of turns that show nothing yet
        labels = sum(sum(of_turns.values()) for of_turns in unpaid)
        room = rate * (sum(unit.tokens for _, unit in units) + labels)
        for place, unit in sorted(units, key=lambda placed: -placed[1].worth):
            if unit.needs is not None and unit.needs not in chosen[place]:
                continue
            turn = layouts[place].turn[unit.words[0]]
            tokens = unit.tokens + unpaid[place].get(turn, 0)
            if unit.worth < ALWAYS and tokens > room:
                continue  # a shorter one, worth less, may still fit
            room -= tokens
            unpaid[place].pop(turn, None)
            chosen[place].update(unit.words)
        return [_joined(layout, chosen[place]) for place, layout in enumerate(layouts)]


def word_information(texts: Sequence[str]) -> list[list[float]]:
    """The bits of words by how often they stand in the texts themselves, without a model.

    A word at n of N places has log2(N / n) bits; what every text has, such as "the", next to none.
    """
    named = [[bare(text[start:stop]) for start, stop in words(text)] for text in texts]
    counts = Counter(name for names in named for name in names)
    total = counts.total()
    bits = {
        name: math.log2(total / count) if _terms(name) else STOP_WORD_BITS
        for name, count in counts.items()
    }
    return [[bits[name] for name in names] for names in named]


def _terms(text: str) -> frozenset[int]:
    """The terms of a text that search counts, too: without stop words and endings."""
    return frozenset(terms(text)[:, 0].tolist())


def _units(layout: _Layout, bits: Sequence[float], asked: frozenset[int]) -> list[_Unit]:
    """The units of a passage, each worth no more than what it needs.

    What is worth more than what it needs is one unit with it: it cannot stay alone.
    """
    units: list[_Unit] = []
    before: list[_Unit] = []  # the sentences of this turn that hang on each other, the first first
    for first, last in _sentences(layout):
        if layout.is_fixed[first]:
            units.append(_unit(layout, bits, ALWAYS, range(first, last)))
            continue
        whole, *parts = _parts(layout, bits, asked, first, last)
        units += parts
        sentence = [layout.words(at, at + 1) for at in range(first, last)]
        follows = before and layout.turn[before[-1].words[0]] == layout.turn[first]
        if not (follows and points_back(sentence)):
            units += before
            before = [whole]
            continue
        before.append(replace(whole, needs=before[-1].words[0]))
        while len(before) > 1 and before[-1].worth >= before[-2].worth:
            hanging = before.pop()
            before[-1] = before[-1].with_words_of(hanging)
    return units + before


def _parts(
    layout: _Layout, bits: Sequence[float], asked: frozenset[int], first: int, last: int
) -> list[_Unit]:
    """A sentence without what can be missed, and the clauses and fillers that can be."""
    sentence = [layout.words(at, at + 1) for at in range(first, last)]
    empty = {first + at for at in fillers(sentence)}
    groups = [range(first + start, first + stop) for start, stop in clauses(sentence)]
    missed = empty.union(*groups)
    divisor = (1 + min(layout.rank[first:last])) ** RANK_POWER  # once: a sentence may be long

    def clause_of(places: Sequence[int]) -> _Unit:
        of = [at for at in places if at not in empty]
        held = _terms(" ".join(layout.words(at, at + 1) for at in of))
        question = 1 + QUESTION_WEIGHT * len(held & asked) / max(len(asked), 1)
        return _unit(layout, bits, question / divisor, of)

    main = clause_of([at for at in range(first, last) if at not in missed])
    hanging: list[_Unit] = []
    for clause in map(clause_of, groups):
        if clause.worth >= main.worth:
            main = main.with_words_of(clause)
        else:
            hanging.append(clause)
    begins = {at: group[0] for group in groups for at in group}
    hanging = [replace(clause, needs=main.words[0]) for clause in hanging]
    for filler in _runs(sorted(empty)):
        needs = begins.get(filler[0], main.words[0])
        hanging.append(replace(_unit(layout, bits, NOTHING, filler), needs=needs))
    return [main, *hanging]


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Numbers in order, those that follow each other together: "you know" goes as one."""
    runs: list[list[int]] = []
    for at in places:
        if runs and at == runs[-1][-1] + 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


def _unit(layout: _Layout, bits: Sequence[float], weight: float, of: Sequence[int]) -> _Unit:
    tokens = sum(layout.tokens(at) for at in of)
    worth = weight and weight * max(sum(bits[at] for at in of), STOP_WORD_BITS) / max(tokens, 1)
    return _Unit(list(of), tokens, worth)


def _sentences(layout: _Layout) -> Iterator[Span]:
    """The sentences of a passage as ranges of its words, with those that take them up.

    Labels belong to none of them. What is fixed is one of its own.
    """
    first, size = 0, len(layout.places)
    shown = [layout.words(at, at + 1) for at in range(size)]
    for at in range(1, size + 1):
        if at < size and not _parted(layout, shown, at):
            continue
        if not layout.is_label[first]:
            yield first, at
        first = at


def _parted(layout: _Layout, shown: Sequence[str], at: int) -> bool:
    """Whether what stays or goes as a whole ends before a word."""
    for border in (layout.turn, layout.is_label, layout.is_fixed):
        if border[at - 1] != border[at]:
            return True
    if layout.is_fixed[at]:
        return False
    return ends(shown, at, layout.gap(at)) and not takes_up(shown, at) and not _heads(layout, at)


def _heads(layout: _Layout, at: int) -> bool:
    """Whether the line before a word is a heading, which says what the next is about."""
    line = layout.text.rfind("\n", 0, layout.places[at - 1][1]) + 1
    return layout.text.startswith("#", line)


def _joined(layout: _Layout, chosen: set[int]) -> str:
    """The chosen words, with the white space and the ends of sentences between them."""
    text, places = layout.text, layout.places
    if len(chosen) + sum(layout.is_label) == len(places):
        return text
    with_text = {layout.turn[at] for at in chosen}
    last_of = {at: last - 1 for first, last in _sentences(layout) for at in range(first, last)}
    parts: list[str] = []
    before = -1
    for at, place in enumerate(places):
        if at not in chosen and not (layout.is_label[at] and layout.turn[at] in with_text):
            continue
        if parts:
            parts[-1] = _ended(layout, parts[-1], before, at, last_of)
            parts.append(_gap(text[places[before][1] : place[0]]))
        parts.append(text[slice(*place)])
        before = at
    if parts:
        parts[-1] = _ended(layout, parts[-1], before, len(places), last_of)
    return "".join(parts)


def _ended(layout: _Layout, word: str, at: int, following: int, last_of: dict[int, int]) -> str:
    """A shown word with the mark that fits what is shown behind it."""
    last = last_of.get(at, at)
    if following > last > at:  # the sentence lost its end
        return word.rstrip(",;:") + end_mark(layout.words(last, last + 1))
    if following > at + 1 and layout.words(following - 1, following).endswith((",", ";")):
        return word.rstrip(",;") if last >= following else word
    return word


def _gap(between: str) -> str:
    if "\n" in between:
        return "\n"
    return " " if re.search(r"\s", between) else ""
