"""A ranking: the scores of all fragments, and the contributions that they are the sum of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeGuard

import numpy as np

from treering.arrays import LARGEST, Codes, Floats, are_among, for_each_piece, union
from treering.records import KINDS, Why
from treering.search.relations.contract import Plan, Relations, alpha_of, is_local
from treering.search.scores import TOP, ScaledScores, Standings, confidences
from treering.search.snapshot import NO_ROWS, Cosines, Mask, Snapshot

if TYPE_CHECKING:
    from treering.search.hits import RowReader
    from treering.search.pipeline import EnvironmentPart
    from treering.search.searcher import Search

GROUP = 64  # rows of which only the best is compared at first, if few of many are needed
MOST_REFINED = 128  # the best rows of a query that are scored exactly


class Contribution(Protocol):
    """The values that a signal adds to scores."""

    def at(self, row: int) -> float:
        """Return the value of one row."""
        ...

    def add_to(self, scores: Floats, share: Floats | None = None) -> None:
        """Add the values to the scores of all rows, times ``share`` if it is given."""
        ...


@dataclass(frozen=True, slots=True)
class RowValues:
    """The contribution of a signal to some rows.

    ``rows`` are a mask of shape (N,), row numbers, or None for all rows. ``values`` is one number
    for all of these rows, or an array: shape (N,) for a mask or None, else one value per row.
    """

    rows: Mask | Codes | None
    values: np.float32 | Floats

    def at(self, row: int) -> float:
        """See ``Contribution``."""
        places = np.array([row])
        if self.rows is not None:
            is_it = is_mask(self.rows)
            places = places[self.rows[places]] if is_it else np.flatnonzero(self.rows == row)
        if not len(places):
            return 0.0
        values = self.values
        return float(values if isinstance(values, np.float32) else values[places[0]])

    def speaks_of(self, row: int) -> bool:
        """Return whether a row has a value; without a list of rows, all have one."""
        return self.rows is None or is_mask(self.rows) or bool((self.rows == row).any())

    def add_to(self, scores: Floats, share: Floats | None = None) -> None:
        """See ``Contribution``."""
        if self.rows is None or is_mask(self.rows):
            add = partial(_add, scores, self.rows, self.values, share)
            for_each_piece(add, len(scores))
        elif len(self.rows):
            scores[self.rows] += self.values if share is None else self.values * share[self.rows]

    def with_cosines(self, cosines: Cosines | None) -> RowValues:
        """Return the values of the rows whose cosines are known.

        The others are at the mean of all: with a bonus they would come before rows that answer.
        """
        if cosines is None or cosines.spread is None or not is_mask(self.rows):
            return self
        mask = np.zeros_like(self.rows)
        mask[cosines.known] = self.rows[cosines.known]
        return replace(self, rows=mask)


def is_mask(rows: Mask | Codes | None) -> TypeGuard[Mask]:
    """Return whether rows are a mask."""
    return rows is not None and rows.dtype == np.bool_


def _add(
    column: Floats,
    mask: Mask | Codes | None,
    values: np.float32 | Floats,
    share: Floats | None,
    rows: slice,
) -> None:
    added = values if isinstance(values, np.float32) else values[rows]
    if share is not None:
        added = added * share[rows]
    column[rows] += added if mask is None else mask[rows] * added


class Stage(IntEnum):
    """The order in which signals contribute; those of one stage see the same ranking.

    The signals of ``QUESTION`` look at no scores, those behind it at the best rows.
    """

    ROWS = 0
    QUESTION = 1
    SOURCES = 2
    MENTIONS = 3


class Signal(Protocol):
    """A term of the score that looks at the query and the ranking so far.

    ``is_evidence`` says whether the term makes a hit surer: the best hits of a question without an
    answer get the terms of the other signals, too.
    """

    stage: ClassVar[Stage]
    is_evidence: ClassVar[bool]

    @property
    def name(self) -> str: ...  # noqa: D102

    def contribute(self, ranking: Ranking) -> Contribution | None:
        """Return the weighted values of the rows that the signal is for; None for no rows."""
        ...


@dataclass(slots=True)
class Ranking:
    """The scores of N fragments for a query, and the terms that they are the sum of.

    ``plan`` is that of the search, as it fits the chats of the space. Without a reader of ``rows``
    no signal reads the best hits. Every term is multiplied by ``share``, shape (N,), if it is
    given. ``cut`` is the mean number of pieces of a message, ``doubtful`` has the names of the
    terms that are not evidence. With a ``refinement`` the scores are those of vectors in eight
    bits, until ``best`` makes those of the rows that it returns exact, and of those that come as
    near to them as scores may be off.
    """

    snapshot: Snapshot
    relations: Relations
    plan: Plan
    search: Search
    cut: float
    rows: RowReader | None = None
    readable: bool | None = None
    """Whether the bundled model can read the query; None for another model."""
    bm25: Floats | None = None
    cosines: Cosines | None = None
    scores: Floats = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    terms: dict[str, Contribution] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    share: Floats | None = None
    standings: Standings | None = None
    refinement: Refinement | None = None
    top: Codes | None = None
    """The first rows that ``best`` returned last."""

    def weight(self, name: str, times: float = 1.0) -> np.float32 | Floats | None:
        """Return the weight of a signal at each row by its kind of content, times ``times``.

        One number if all rows are of one kind, else shape (N,); None if it is 0 everywhere.
        """
        snapshot = self.snapshot
        alphas = np.array(
            [times * alpha_of(self.plan, kind, name) for kind in KINDS], dtype=np.float32
        )
        here = alphas[[KINDS.index(kind) for kind in snapshot.kinds]]
        if not here.any():
            return None
        return np.float32(here[0]) if len(here) == 1 else alphas[snapshot.kind]

    def add(self, contributions: Iterable[tuple[Signal, Contribution]]) -> None:
        """Add the contributions of signals to the scores."""
        for signal, contribution in contributions:
            if isinstance(contribution, RowValues):
                contribution = contribution.with_cosines(self.cosines)
            contribution.add_to(self.scores, self.share)
            self.terms[signal.name] = contribution
            if not signal.is_evidence:
                self.doubtful.add(signal.name)

    def features(self, rows: Codes) -> list[dict[str, float]]:
        """Return the ``FEATURES`` of some fragments."""
        assert self.standings is not None  # set before the ranking is returned
        features: list[dict[str, float]] = [
            {"standing": self.standings.stand_out(self._evidence(row))} for row in rows.tolist()
        ]
        if self.bm25 is not None:
            coverage = self.snapshot.lexical.coverage(self.search.terms, rows)
            for values, share in zip(features, coverage.tolist(), strict=True):
                values["coverage"] = share
        if self.cosines is not None and self.readable:
            for values, row in zip(features, rows.tolist(), strict=True):
                if self.snapshot.embedded[row]:
                    values["cosine"] = float(self.cosines.values[row])
        return features

    def _evidence(self, row: int) -> float:
        """Return the score of a fragment without the terms that are not evidence."""
        extra = sum(self.terms[name].at(row) for name in self.doubtful)
        return float(self.scores[row]) - self._share(row) * extra

    def _share(self, row: int) -> float:
        return 1.0 if self.share is None else float(self.share[row])

    def confidence(self, rows: Codes) -> list[float]:
        """Return the probability of each of some fragments that it answers the query."""
        if self.top is None:
            self.top = self._best(TOP, None)
        numbers, top = rows.tolist(), self.top.tolist()
        others = [row for row in top if row not in numbers[:TOP]]
        if others:
            rows = np.array([*numbers, *others], dtype=np.int64)
        every = self.features(rows)
        by_row = dict(zip([*numbers, *others], every, strict=True))
        return confidences(every[: len(numbers)], [by_row[row] for row in top]) if numbers else []

    def why(self, row: int) -> Why:
        """Return why a fragment has its score."""
        bm25, cosines, share = self.bm25, self.cosines, self._share(row)
        terms = {
            name: share * term.at(row)
            for name, term in self.terms.items()
            if not isinstance(term, RowValues) or term.speaks_of(row)
        }
        return Why(
            terms=terms,
            bm25=None if bm25 is None else float(bm25[row]),
            cosine=None if cosines is None else float(cosines.values[row]),
        )

    def best(self, k: int, allowed: Mask | None = None) -> Codes:
        """Return the rows of the k best fragments; ties by order of arrival.

        A query by words alone finds nothing if no fragment has any of them.
        """
        by_words = self.bm25 if self.cosines is None else None
        if by_words is not None and not (by_words.any() or self.scores.any()):
            return NO_ROWS
        best = self._best(max(k, TOP), allowed)
        self.top = best[:TOP]
        return best[:k]

    def _best(self, k: int, allowed: Mask | None) -> Codes:
        if self.refinement is None:
            return top_rows(self.scores, k, allowed)
        depth = max(k, min(k + self.refinement.cosines.behind, MOST_REFINED))
        rows = top_rows(self.scores, depth, allowed)
        scores = self.scores[rows]
        rows = rows[scores >= scores[:k].min(initial=np.inf) - self.refinement.margin]
        self.refinement.refine(self.scores, np.sort(rows[:MOST_REFINED]))
        rows = np.sort(rows)  # an exact score may also fall below one that is not
        order = np.argsort(-self.scores[rows], kind="stable")
        best: Codes = rows[order][:k]
        return best


def top_rows(scores: Floats, k: int, allowed: Mask | None) -> Codes:
    """Return the rows of the k highest of some scores, shape (N,), highest first; ties by row."""
    if allowed is not None:
        among = np.flatnonzero(allowed)
        best: Codes = among[top_rows(scores[among], k, None)]
        return best
    k = min(k, len(scores))
    if not k:
        return np.zeros(0, dtype=np.int64)
    rows = _rows_above(scores, k)
    highest = scores[rows]
    # All rows that reach the k-th best score: a partition alone would cut ties by chance.
    is_top = highest >= np.partition(highest, len(highest) - k)[len(highest) - k]
    order = np.argsort(-highest[is_top], kind="stable")
    top: Codes = rows[is_top][order][:k]
    return top


def _rows_above(scores: Floats, k: int) -> Codes:
    """Return few rows, ascending, that hold all which reach the k-th best score."""
    groups = len(scores) // GROUP
    if groups <= k:
        return np.arange(len(scores))
    # The k-th best of the best of groups is reached by k scores or more, so by the k best of all;
    # there are few such, and the groups' best are found without sorting anything.
    best = scores[: groups * GROUP].reshape(GROUP, groups).max(axis=0)
    return np.flatnonzero(scores >= np.partition(best, groups - k)[groups - k])


LEAST_SHARE = 0.02
"""Neighbours of which a relation passes on less are not looked for."""


@dataclass(slots=True)
class Refinement:
    """Makes scores exact: it changes raw cosines, relations' scores and totals.

    A relation that mixes a few neighbours gets the exact scores of those. In one that mixes many
    rows the errors cancel out, so it stays. ``alpha`` is the weight of all relations together.
    ``exact`` reads the vectors of rows, ascending, as they were embedded.
    """

    snapshot: Snapshot
    cosines: Cosines
    dense: ScaledScores
    vector: Floats
    related: Sequence[EnvironmentPart]
    alpha: float
    share: Floats | None
    exact: Callable[[Codes], Floats]
    refined: Codes = field(init=False)
    """The rows whose cosines are exact already, ascending."""

    def __post_init__(self) -> None:
        self.refined = self.cosines.known

    @property
    def margin(self) -> float:
        """By how much the difference of two exact scores may differ from theirs now."""
        step = float(np.abs(self.vector).max(initial=0)) / LARGEST
        return self.cosines.steps * step * float(self.dense.scale) * (1 + self.alpha)

    def refine(self, scores: Floats, rows: Codes) -> None:
        """Make the scores of some rows, given ascending, exact."""
        near = rows
        for part in self.related:
            if is_local(part.operator):
                near = union(near, part.operator.near(rows, LEAST_SHARE))
        near = near[self.snapshot.embedded[near]]
        own = np.zeros(len(near), dtype=np.float32)
        is_new = ~are_among(near, self.refined)
        if not is_new.any():
            return
        new = near[is_new]
        cosines, values = np.asarray(self.exact(new) @ self.vector), self.cosines.values
        own[is_new] = (cosines - values[new]) * self.dense.scale
        values[new] = cosines
        self.refined = union(self.refined, new)
        change = own.copy()  # and what local relations make of it
        for part in self.related:
            if is_local(part.operator):
                passed = part.operator.among(near, own) * part.weight(near)
                part.values[near] += passed
                change += passed
        scores[near] += change if self.share is None else change * self.share[near]
