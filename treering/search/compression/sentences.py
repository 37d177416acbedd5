"""Compression by whole sentences: those that say least about the question go first.

Without a model a sentence is worth the share of the question's words that it has. A local model
measures besides how hard its words are to guess, as in Selective Context (Li et al. 2023). In both
cases a sentence is worth less the lower its text ranks, and the later it comes in it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from treering.llm.contract import ReadingLLM
from treering.llm.tokens import tokens_upto
from treering.search.compression.contract import CompressibleText, Span
from treering.search.terms import terms
from treering.split.text import sentence_spans

Information = Callable[[str, Sequence[Span]], list[float]]
"""The bits of some sentences of a text for each of their tokens."""

FLOOR: Final = 1.0
"""The worth of a sentence without a word of the question; one with all of them has 1 more."""

LATER: Final = 0.05
"""By how much the divisor of its worth grows for each sentence before it in the same text."""

SHORT: Final = 4
"""Words up to which a sentence stays or goes with the one before it, as "It was negative." does."""

ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True)
class _Unit:
    """Sentences of a passage that stay or go together, with the label that they need."""

    passage: int
    span: Span
    label: Span | None
    tokens: float
    worth: float


class SentenceCompressor:
    """Leaves out the sentences that are worth least, in whichever passage they are."""

    def __init__(self, information: Information = lambda _, spans: [1.0] * len(spans)) -> None:
        self._information = information

    def compress(self, passages: Sequence[CompressibleText], query: str, rate: float) -> list[str]:
        """See ``Compressor.compress``. It keeps at most ``rate``, besides fixed text."""
        upto = [tokens_upto(passage.text) for passage in passages]
        asked = _terms(query)
        units = [
            unit
            for at, passage in enumerate(passages)
            for unit in self._units(at, passage, upto[at], asked)
        ]
        most = rate * sum(of_text[-1] for of_text in upto) + ROUNDING
        room, chosen, labels = most, list[_Unit](), set[tuple[int, Span]]()
        for unit in sorted(units, key=lambda unit: -unit.worth):
            tokens, label = unit.tokens, unit.label
            if label is not None and (unit.passage, label) not in labels:  # shown once a turn
                tokens += upto[unit.passage][label[1]] - upto[unit.passage][label[0]]
            if tokens <= room or unit.worth == math.inf:
                room -= tokens
                chosen.append(unit)
                labels |= {(unit.passage, label)} if label is not None else set()
        shown = _shown(passages, chosen)
        # A line break that joins two sentences costs tokens, too, which no sentence was charged.
        while chosen and chosen[-1].worth < math.inf and sum(map(_tokens, shown)) > most:
            shown = _shown(passages, chosen[:-1])
            chosen.pop()
        return shown

    def _units(
        self, at: int, passage: CompressibleText, upto: Sequence[float], asked: frozenset[int]
    ) -> Iterator[_Unit]:
        text, placed = passage.text, list(_sentences(passage))
        bits = self._information(text, [sentence.span for sentence in placed])
        for sentence, information in zip(placed, bits, strict=True):
            start, stop = sentence.span
            share = len(_terms(text[start:stop]) & asked) / max(len(asked), 1)
            divisor = (1 + sentence.rank) * (1 + LATER * sentence.place)
            is_fixed = any(first < stop and start < last for first, last in passage.fixed)
            worth = math.inf if is_fixed else information * (FLOOR + share) / divisor
            yield _Unit(at, sentence.span, sentence.label, upto[stop] - upto[start], worth)


def surprisal(llm: ReadingLLM) -> Information:
    """The bits of sentences to a model, which reads each text once."""
    read: dict[str, tuple[list[int], list[float]]] = {}

    def information(text: str, spans: Sequence[Span]) -> list[float]:
        if text not in read:
            tokens = llm.surprisals(text)
            bits = accumulate((token.bits for token in tokens), initial=0.0)
            read[text] = [token.end for token in tokens], list(bits)
        ends, upto = read[text]
        of_spans = [(bisect_right(ends, start), bisect_right(ends, stop)) for start, stop in spans]
        return [(upto[stop] - upto[first]) / max(stop - first, 1) for first, stop in of_spans]

    return information


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence: its ``place`` in its text, the ``rank`` of this, and the label of its turn."""

    span: Span
    place: int
    rank: int
    label: Span | None


def _terms(text: str) -> frozenset[int]:
    return frozenset(terms(text)[:, 0].tolist())


def _sentences(passage: CompressibleText) -> Iterator[_Sentence]:
    """The sentences of a passage without its labels. A hit and a label each begin a text."""
    text, labels = passage.text, dict(passage.labels)
    ranks: dict[int, int] = {}
    for (start, _), rank in passage.hits:
        ranks[start] = min(rank, ranks.get(start, rank))
    rank, label = min(ranks.values(), default=0), None
    for start, stop in pairwise([*sorted({0, *labels, *ranks}), len(text)]):
        if start in labels:
            label = start, labels[start]
        elif start and text[start - 1] == "\n":
            label = None
        rank = ranks.get(start, rank)
        spans: list[Span] = []
        for first, last in sentence_spans(text, labels.get(start, start), stop):
            if spans and len(text[first:last].split()) <= SHORT:
                spans[-1] = spans[-1][0], last
            else:
                spans.append((first, last))
        for place, span in enumerate(spans):
            yield _Sentence(span, place, rank, label)


def _tokens(text: str) -> float:
    return tokens_upto(text)[-1]


def _shown(passages: Sequence[CompressibleText], units: Sequence[_Unit]) -> list[str]:
    """The texts of passages at some sentences, with the labels of their turns."""
    kept: list[set[Span]] = [set() for _ in passages]
    for unit in units:
        kept[unit.passage].update({unit.span} if unit.label is None else {unit.span, unit.label})
    return [_joined(passage.text, sorted(s)) for passage, s in zip(passages, kept, strict=True)]


def _joined(text: str, spans: Sequence[Span]) -> str:
    """The text at some spans, which ascend, with a space or a line break where some is left out."""
    parts: list[str] = []
    behind = 0
    for start, stop in spans:
        if parts and start > behind:
            parts[-1] = parts[-1].rstrip()
            parts.append("\n" if "\n" in text[behind - 1 : start] else " ")
        parts.append(text[start:stop])
        behind = stop
    shown = "".join(parts)
    return shown if behind == len(text) else shown.rstrip()
