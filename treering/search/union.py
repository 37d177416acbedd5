"""Several spaces ranked as one, by the statistics of their union.

A score counts rare words more, and is in deviations from the mean of all fragments. Each space has
other rare words and another mean, so that the best fragment of a space without the answer scores as
high as the answer. By the statistics of the union, scores are those of one space with all entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from math import sqrt

import numpy as np

from treering.records import KINDS, Context, Filter, Hit, Mode
from treering.search.context import (
    DEFAULT_LAYOUT,
    SURE_CANDIDATES,
    Candidate,
    CountTokens,
    Layout,
    fill,
)
from treering.search.hits import Groups
from treering.search.lexical import Corpus
from treering.search.relations.contract import Plan
from treering.search.scores import UnionStatistics
from treering.search.searcher import (
    Moments,
    Search,
    Searcher,
    SpaceCounts,
)
from treering.search.snapshot import NO_ROWS, Spread

SHORTEST = 16
"""Tokens of a short turn with its citation: by it a budget bounds the fragments that are read."""


@dataclass(frozen=True, slots=True)
class SpaceUnion:
    """Spaces that are asked together, each with its relations.

    Each is read in transactions of its own: its row-level security, filters and marks apply.
    """

    members: Sequence[tuple[Searcher, Plan]]

    def search(
        self, query: str, k: int, condition: Filter, mode: Mode, *, every: bool = True
    ) -> list[Hit]:
        """Return the k best fragments of all spaces, best first; see ``Searcher.search``.

        Unless ``every`` is set, hits that say the same are folded across spaces. A statement
        supersedes others of its own space alone.
        """
        hits: list[Hit] = []
        for searcher, search in self._searches(query, condition, mode):
            hits += searcher.search(search, k, every=every)
        hits.sort(key=lambda hit: -hit.score)
        if not every:
            groups = Groups(query)
            groups.add(hits)
            hits = groups.best()
        return hits[:k]

    def candidates(self, query: str, condition: Filter, mode: Mode, most: int) -> list[Candidate]:
        """Return up to ``most`` fragments of each space, pinned ones first, then best first."""
        hits: list[Candidate] = []
        for place, (searcher, search) in enumerate(self._searches(query, condition, mode)):
            with closing(searcher.candidates(search)) as ranked:  # it reads within a transaction
                for one in islice(ranked, most):
                    unit = one.unit * len(self.members) + place  # units are numbered by space
                    hits.append(replace(one, unit=unit, space=one.hit.space))
        return sorted(hits, key=lambda candidate: (not candidate.is_pinned, -candidate.hit.score))

    def context(
        self,
        query: str,
        condition: Filter,
        mode: Mode,
        budget: int,
        count_tokens: CountTokens,
        least: float = 0.0,
        layout: Layout = DEFAULT_LAYOUT,
    ) -> Context:
        """Return the best fragments of all spaces that fit a budget; see ``Searcher.context``."""
        most = max(SURE_CANDIDATES, budget // SHORTEST)
        ranked = self.candidates(query, condition, mode, most)
        whole = layout != DEFAULT_LAYOUT
        return fill(query, ranked, budget, count_tokens, least, layout, whole=whole)

    def _searches(
        self, query: str, condition: Filter, mode: Mode
    ) -> Iterator[tuple[Searcher, Search]]:
        """Yield the search of each space that has fragments, with the statistics of all."""
        asked = [
            (searcher, Search(query, condition, mode, plan)) for searcher, plan in self.members
        ]
        counted = [(*pair, pair[0].counts(pair[1])) for pair in asked]
        there = [(searcher, search, count) for searcher, search, count in counted if count]
        union = _statistics([count for _, _, count in there])
        measured = [searcher.measure(replace(search, union=union)) for searcher, search, _ in there]
        models = {count.model.name for _, _, count in there if count.model is not None}
        union = replace(
            union,
            words=_pool([words for _, words, _ in measured if words]),
            # Cosines of two models do not compare: they count by the spread of each space.
            meaning=_pool([cosines for _, _, cosines in measured if cosines and len(models) == 1]),
        )
        for (searcher, _, _), (search, _, _) in zip(there, measured, strict=True):
            yield searcher, replace(search, union=union)


def _statistics(counts: Collection[SpaceCounts]) -> UnionStatistics:
    """Return the counts of all spaces together, as yet without spreads."""
    frequencies: Counter[int] = Counter()
    for count in counts:
        frequencies.update(count.corpus.frequencies)
    rows = sum(count.corpus.rows for count in counts)
    corpus = Corpus(rows, sum(count.corpus.terms for count in counts), frequencies)
    by_kind = sum((count.kinds for count in counts), np.zeros(len(KINDS), dtype=np.int64))
    kinds = tuple(kind for kind, size in zip(KINDS, by_kind, strict=True) if size)
    return UnionStatistics(corpus, kinds, float(by_kind[KINDS.index("chat")]) / max(rows, 1))


def _pool(parts: Sequence[Moments]) -> Spread | None:
    """Return mean and deviation of all scores, by those of parts."""
    if not parts:
        return None
    size = max(sum(number for number, _, _ in parts), 1)
    centre = sum(number * mean for number, mean, _ in parts) / size
    squares = sum(number * ((mean - centre) ** 2 + spread**2) for number, mean, spread in parts)
    return Spread(np.float32(centre), np.float32(sqrt(squares / size)), NO_ROWS)
