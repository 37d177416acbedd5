"""Metrics of MemoChat's three stages (section 4.1): writing, choosing, and chatting.

Writing is scored as in named entity recognition: only an entry whose range equals a reference's
counts, and then by its topic (exact match) or by its summary (a similarity from 0 to 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treering.arrays import Floats

Similarity = Callable[[str, str], float]
TokenVectors = Callable[[str], Floats]
"""Unit vectors of a text's tokens, shape (tokens, dimension)."""


@dataclass(frozen=True, slots=True)
class MemoEntry:
    """One entry of a memo: lines ``start`` to ``end``, counted from 1, both included."""

    topic: str
    summary: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MatchCounts:
    """How many matched, were predicted, and are in the reference."""

    matched: float = 0.0
    predicted: int = 0
    reference: int = 0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.predicted + self.reference
        return 2 * self.matched / total if total else 0.0


def topics(predicted: Sequence[MemoEntry], reference: Sequence[MemoEntry]) -> MatchCounts:
    """Topics that equal the reference's of the same range, case and white space aside."""
    return _matched(
        predicted, reference, lambda ours, theirs: float(_plain(ours) == _plain(theirs))
    )


def summaries(
    predicted: Sequence[MemoEntry],
    reference: Sequence[MemoEntry],
    similarity: Similarity | None = None,
) -> MatchCounts:
    """Summaries like the reference's of the same range; by default every one of them counts 1."""
    return _matched(predicted, reference, similarity or _same_range, lambda span: span.summary)


def choices(predicted: frozenset[int], reference: frozenset[int]) -> MatchCounts:
    """Chosen options that are in the reference; NOTO is an option like any other."""
    return MatchCounts(len(predicted & reference), len(predicted), len(reference))


def bert_score(vectors: TokenVectors) -> Similarity:
    """BERTScore F1 (Zhang et al. 2020): every token is matched with its likeliest in the other.

    Without idf weights and baseline rescaling. A text without tokens scores 0.
    """

    def score(candidate: str, reference: str) -> float:
        ours, theirs = vectors(candidate), vectors(reference)
        if not len(ours) or not len(theirs):
            return 0.0
        likeness = ours @ theirs.T
        precision, recall = likeness.max(axis=1).mean(), likeness.max(axis=0).mean()
        if precision + recall <= 0:
            return 0.0
        return float(np.clip(2 * precision * recall / (precision + recall), 0.0, 1.0))

    return score


def _matched(
    predicted: Sequence[MemoEntry],
    reference: Sequence[MemoEntry],
    alike: Similarity,
    text: Callable[[MemoEntry], str] = lambda span: span.topic,
) -> MatchCounts:
    by_range = {(span.start, span.end): span for span in reference}
    same_range = {
        (span.start, span.end): span for span in predicted if (span.start, span.end) in by_range
    }
    matched = sum(alike(text(span), text(by_range[place])) for place, span in same_range.items())
    return MatchCounts(matched, len(predicted), len(reference))


def _same_range(_: str, __: str) -> float:
    return 1.0


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
