"""A ranking: the scores of all fragments, and the contributions that they are the sum of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, are_among, union
from treering.embed.quantised import LARGEST
from treering.parallel import for_each_piece
from treering.records import KINDS, Mode, Why
from treering.search.relations.contract import Plan, Relations, alpha_of, is_local
from treering.search.scores import TOP, ScaledScores, Standings, confidences
from treering.search.snapshot import Cosines, Mask, Snapshot
from treering.search.terms import Terms

if TYPE_CHECKING:
    from treering.search.environment import EnvironmentPart
    from treering.search.hits import RowReader
    from treering.search.scores import UnionStatistics

GROUP = 64  # rows of which only the best is compared at first, if few of many are needed
MOST_REFINED = 128  # the best rows of a query that are scored exactly

NO_ROWS = np.zeros(0, dtype=np.int64)


class RawScores(NamedTuple):
    """BM25 and cosines of the fragments of a snapshot of some version; None for no part."""

    version: int
    bm25: Floats | None
    cosines: Cosines | None


@dataclass(frozen=True, slots=True)
class Queries:
    """Some queries that are ranked together.

    ``vectors`` has a unit row per query; None without any. ``now`` is an aware time from which
    "last week" counts; None for the local clock. Without ``rows`` no signal reads the best hits.
    ``union`` has the statistics of all spaces that are asked, None for one space; ``raw`` the
    scores that were computed for them.
    """

    texts: Sequence[str]
    terms: Sequence[Terms]
    vectors: Floats | None
    mode: Mode
    now: datetime | None = None
    rows: RowReader | None = None
    union: UnionStatistics | None = None
    raw: RawScores | None = None


class Contribution(Protocol):
    """The values that a signal adds to scores."""

    def at(self, row: int, query: int) -> float:
        """Return the value of one row for one query."""
        ...

    def add_to(self, scores: Floats, share: Floats | None = None) -> None:
        """Add the values to scores of shape (N, Q), times ``share``, shape (N,), if given."""
        ...


@dataclass(frozen=True, slots=True)
class RowValues:
    """The contribution of a signal to some rows of each query.

    ``rows`` has a mask of shape (N,), row numbers, or None for all rows. ``values`` has one number
    for all of these rows, or an array: shape (N,) for a mask or None, else one value per row.
    """

    rows: Sequence[Mask | Codes | None]
    values: Sequence[np.float32 | Floats]

    def at(self, row: int, query: int) -> float:
        """See ``Contribution``."""
        rows, values = self.rows[query], self.values[query]
        places = np.array([row])
        if rows is not None:
            places = places[rows[places]] if is_mask(rows) else np.flatnonzero(rows == row)
        if not len(places):
            return 0.0
        return float(values if isinstance(values, np.float32) else values[places[0]])

    def speaks_of(self, row: int, query: int) -> bool:
        """Return whether a row has a value; without a list of rows, all have one."""
        rows = self.rows[query]
        return rows is None or is_mask(rows) or bool((rows == row).any())

    def add_to(self, scores: Floats, share: Floats | None = None) -> None:
        """See ``Contribution``."""
        for column, rows, values in zip(scores.T, self.rows, self.values, strict=True):
            if rows is None or is_mask(rows):
                for_each_piece(partial(_add, column, rows, values, share), len(column))
            elif len(rows):
                column[rows] += values if share is None else values * share[rows]

    def with_cosines(self, cosines: Cosines | None) -> RowValues:
        """Return the values of the rows whose cosines are known.

        The others are at the mean of all: with a bonus they would come before rows that answer.
        """
        if cosines is None or cosines.spread is None:
            return self
        narrowed = list(self.rows)
        for query, (rows, known) in enumerate(zip(self.rows, cosines.known, strict=True)):
            if rows is not None and is_mask(rows):
                mask = np.zeros_like(rows)
                mask[known] = rows[known]
                narrowed[query] = mask
        return replace(self, rows=narrowed)


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
    """A term of the score that looks at the queries and the ranking so far.

    ``is_evidence`` says whether the term makes a hit surer: the best hits of a question without an
    answer get the terms of the other signals, too.
    """

    stage: ClassVar[Stage]
    is_evidence: ClassVar[bool]

    @property
    def name(self) -> str: ...  # noqa: D102

    def contribute(self, queries: Queries, ranking: Ranking) -> Contribution | None:
        """Return the weighted values of the rows that the signal is for; None for no rows."""
        ...


@dataclass(slots=True)
class Ranking:
    """The scores of N fragments for Q queries, (N, Q), and the terms that they are the sum of.

    ``share``, shape (N,), is what every term is multiplied by, if it is given. ``cut`` is the mean
    number of pieces of a message, ``doubtful`` has the names of the terms that are not evidence.
    With a ``refinement`` the scores are those of vectors in eight bits, until ``best`` makes those
    of the rows that it returns exact, and of those that come as near to them as scores may be off.
    """

    by_row: ClassVar[Literal[True]] = True

    snapshot: Snapshot
    relations: Relations
    plan: Plan
    queries: Queries
    cut: float
    readable: NDArray[np.bool_] | None = None
    """Which queries the bundled model can read; None for another model."""
    bm25: Floats | None = None
    cosines: Cosines | None = None
    scores: Floats = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    terms: dict[str, Contribution] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    share: Floats | None = None
    standings: Standings | None = None
    refinement: Refinement | None = None
    top: dict[int, Codes] = field(default_factory=dict)
    """The first rows that ``best`` returned last for each query."""

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

    def features(self, rows: Codes, query: int) -> list[dict[str, float]]:
        """Return the ``FEATURES`` of some fragments for a query."""
        assert self.standings is not None  # set before the ranking is returned
        features: list[dict[str, float]] = [
            {"standing": self.standings.stand_out(self._evidence(row, query), query)}
            for row in rows.tolist()
        ]
        if self.bm25 is not None:
            coverage = self.snapshot.lexical.coverage(self.queries.terms[query], rows)
            for values, share in zip(features, coverage.tolist(), strict=True):
                values["coverage"] = share
        if self.cosines is not None and self.readable is not None and self.readable[query]:
            for values, row in zip(features, rows.tolist(), strict=True):
                if self.snapshot.embedded[row]:
                    values["cosine"] = float(self.cosines.values[row, query])
        return features

    def _evidence(self, row: int, query: int) -> float:
        """Return the score of a fragment without the terms that are not evidence."""
        extra = sum(self.terms[name].at(row, query) for name in self.doubtful)
        return float(self.scores[row, query]) - self._share(row) * extra

    def _share(self, row: int) -> float:
        return 1.0 if self.share is None else float(self.share[row])

    def confidence(self, rows: Codes, query: int) -> list[float]:
        """Return the probability of each of some fragments that it answers a query."""
        if query not in self.top:
            self.best(query, TOP)
        numbers, top = rows.tolist(), self.top[query].tolist()
        others = [row for row in top if row not in numbers[:TOP]]
        if others:
            rows = np.array([*numbers, *others], dtype=np.int64)
        every = self.features(rows, query)
        by_row = dict(zip([*numbers, *others], every, strict=True))
        return confidences(every[: len(numbers)], [by_row[row] for row in top]) if numbers else []

    def why(self, row: int, query: int) -> Why:
        """Return why a fragment has its score for a query."""
        bm25, cosines, share = self.bm25, self.cosines, self._share(row)
        terms = {
            name: share * term.at(row, query)
            for name, term in self.terms.items()
            if not isinstance(term, RowValues) or term.speaks_of(row, query)
        }
        return Why(
            terms=terms,
            bm25=None if bm25 is None else float(bm25[row, query]),
            cosine=None if cosines is None else float(cosines.values[row, query]),
        )

    def margin(self, query: int) -> float:
        """Return by how much the difference of two scores may change when ``best`` refines them."""
        return 0.0 if self.refinement is None else self.refinement.margin(query)

    def best(self, query: int, k: int, allowed: Mask | None = None) -> Codes:
        """Return the rows of the k best fragments for a query; ties by order of arrival."""
        best = self._best(query, max(k, TOP), allowed)
        self.top[query] = best[:TOP]
        return best[:k]

    def _best(self, query: int, k: int, allowed: Mask | None) -> Codes:
        if self.refinement is None:
            return top_rows(self.scores[:, query], k, allowed)
        depth = max(k, min(k + self.refinement.cosines.doubt.rows, MOST_REFINED))
        rows = top_rows(self.scores[:, query], depth, allowed)
        scores = self.scores[rows, query]
        rows = rows[scores >= scores[:k].min(initial=np.inf) - self.margin(query)]
        self.refinement.refine(self.scores, np.sort(rows[:MOST_REFINED]), query)
        rows = np.sort(rows)  # an exact score may also fall below one that is not
        order = np.argsort(-self.scores[rows, query], kind="stable")
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


@dataclass(frozen=True, slots=True)
class Refinement:
    """Makes scores exact: it changes raw cosines, relations' scores and totals.

    A relation that mixes a few neighbours gets the exact scores of those. In one that mixes many
    rows the errors cancel out, so it stays. ``alpha`` is the weight of all relations together.
    ``exact`` reads the vectors of rows, ascending, as they were embedded.
    """

    snapshot: Snapshot
    cosines: Cosines
    dense: ScaledScores
    vectors: Floats
    related: Sequence[EnvironmentPart]
    alpha: float
    share: Floats | None
    exact: Callable[[Codes], Floats]
    refined: dict[int, Codes] = field(init=False)
    """The rows whose cosines are exact already, by query, ascending."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "refined", dict(enumerate(self.cosines.known)))

    def margin(self, query: int) -> float:
        """Return by how much the difference of two exact scores may differ from theirs now."""
        step = float(np.abs(self.vectors[query]).max(initial=0)) / LARGEST
        return self.cosines.doubt.steps * step * float(self.dense.scale[query]) * (1 + self.alpha)

    def refine(self, scores: Floats, rows: Codes, query: int) -> None:
        """Make the scores of some rows, given ascending, exact for a query."""
        near = rows
        for part in self.related:
            if is_local(part.operator):
                near = union(near, part.operator.near(rows, LEAST_SHARE))
        near = near[self.snapshot.embedded[near]]
        own = np.zeros(len(near), dtype=np.float32)
        is_new = ~are_among(near, self.refined.get(query, near[:0]))
        if not is_new.any():
            return
        new = near[is_new]
        cosines, values = np.asarray(self.exact(new) @ self.vectors[query]), self.cosines.values
        own[is_new] = (cosines - values[new, query]) * self.dense.scale[query]
        values[new, query] = cosines
        self.refined[query] = union(self.refined.get(query, new), new)
        self._pass_on(own, near, query, scores)

    def _pass_on(self, own: Floats, near: Codes, query: int, scores: Floats) -> None:
        """Add the change of own scores at ``near``, and what local relations make of it."""
        change = own.copy()
        for part in self.related:
            if is_local(part.operator):
                passed = part.operator.among(near, own) * part.weight(near)
                part.values[near, query] += passed
                change += passed
        scores[near, query] += change if self.share is None else change * self.share[near]
