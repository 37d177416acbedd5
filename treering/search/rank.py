"""From queries to ranked fragments: own scores, relations, and the best k."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.parallel import for_each_piece
from treering.records import KINDS, Mode, Why
from treering.search.asked import BonusTerm, bonuses
from treering.search.confidence import BUNDLED, Standings, confidence
from treering.search.languages import latin_share
from treering.search.named import SpeakerNames
from treering.search.own import OwnScores, RawScores, fuse, raw_scores
from treering.search.parts import PartsTerm, by_parts
from treering.search.refine import Refinement
from treering.search.related import (
    RelatedPart,
    RelatedTerm,
    add_related,
    among_people,
    beside_messages,
    neighbours,
    pieces_a_message,
    relate,
)
from treering.search.relations.asked import (
    NamedSource,
    Parts,
    ReplyTo,
    Role,
    When,
    Wish,
)
from treering.search.relations.combine import Relations
from treering.search.relations.contract import Labels
from treering.search.relations.defaults import (
    LEXICAL_AMONG_PEOPLE,
    NAMED_AMONG_PEOPLE,
    NAMED_SPEAKER,
)
from treering.search.relations.feedback import Feedback
from treering.search.relations.registry import Plan
from treering.search.snapshot import Cosines, Mask, Snapshot, Wanted
from treering.search.terms import Terms, terms

BEST = 128
"""Rows that are promising by the cosines that are known at first, where most are missing."""

UNSURE = tuple(
    relation().name for relation in (Feedback, When, Role, Wish, Parts, NamedSource, ReplyTo)
)
"""Terms that make no hit surer: the best of a question without an answer get them, too."""

GROUP = 64
"""Rows of which the best one is looked at first where few of many are looked for."""

MOST_REFINED = 128  # rows of a query that are scored exactly: nobody compares what is further down


class ScoreTerm(Protocol):
    """One of the terms that a score is the sum of."""

    def at(self, row: int, query: int) -> float:
        """That of one row for one query."""
        ...


@dataclass(frozen=True, slots=True)
class NamedTerm:
    """A bonus for the turns of the speakers that a query names; ``speakers`` has those by query.

    There are so many ``codes`` of speakers.
    """

    speaker: Labels
    speakers: Sequence[frozenset[int]]
    codes: int
    bonus: np.float32

    def at(self, row: int, query: int) -> float:
        """That of one row for one query."""
        return float(self.bonus) if int(self.speaker[row]) in self.speakers[query] else 0.0

    def add_to(self, total: Floats) -> None:
        """Add it to scores of shape (N, Q)."""
        for column, speakers in zip(total.T, self.speakers, strict=True):
            if not speakers:
                continue
            # By code; the place at the end is that of MISSING, which is -1.
            bonus = np.zeros(self.codes + 1, dtype=np.float32)
            bonus[list(speakers)] = self.bonus
            for_each_piece(partial(self._add, column, bonus), len(column))

    def _add(self, column: Floats, bonus: Floats, rows: slice) -> None:
        column[rows] += bonus.take(self.speaker[rows], mode="wrap")


class RankedRows(Protocol):
    """The rows of a snapshot of N fragments, ranked for Q queries."""

    @property
    def snapshot(self) -> Snapshot:
        """The fragments."""
        ...

    @property
    def scores(self) -> Floats:
        """The score of every fragment for every query, shape (N, Q)."""
        ...

    def confidence(self, rows: Codes, query: int) -> list[float]:
        """The probability of each of some fragments that it answers a query."""
        ...

    def why(self, row: int, query: int) -> Why:
        """Why a fragment has its score for a query."""
        ...

    def best(self, query: int, k: int, allowed: NDArray[np.bool_] | None = None) -> Codes:
        """The rows of the k best for a query that are ``allowed``, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scores of N fragments for Q queries, (N, Q), and the terms that they are the sum of.

    ``share``, shape (N,), is what every term is multiplied by, if it is given. ``noted`` is what
    comes to that, by row and query, of relations that speak of few rows. With a ``refinement`` the
    scores are those of vectors in eight bits, until ``best`` makes those of the rows it returns
    exact, and of those that come as near to them as scores may be off.
    """

    snapshot: Snapshot
    scores: Floats
    terms: Mapping[str, ScoreTerm]
    raw: RawScores
    queries: Sequence[Terms]
    standings: Standings
    plan: Plan
    share: Floats | None = None
    refinement: Refinement | None = None
    noted: Mapping[str, Mapping[tuple[int, int], float]] = field(default_factory=dict)

    def features(self, rows: Codes, query: int) -> list[dict[str, float]]:
        """What is known of how well each of some fragments answers a query (see ``FEATURES``)."""
        features: list[dict[str, float]] = [
            {"standing": self.standings.standing(self._unsupported(row, query), query)}
            for row in rows.tolist()
        ]
        if self.raw.bm25 is not None:
            coverage = self.snapshot.lexical.coverage(self.queries[query], rows)
            for values, share in zip(features, coverage.tolist(), strict=True):
                values["coverage"] = share
        model, cosine = self.snapshot.state.model, self.raw.cosine
        if cosine is not None and model is not None and model.name == BUNDLED:
            for values, row in zip(features, rows.tolist(), strict=True):
                if self.snapshot.embedded[row]:
                    values["cosine"] = float(cosine[row, query])
        return features

    def _unsupported(self, row: int, query: int) -> float:
        """The score of a fragment but for the terms that make none surer."""
        extra = sum(self.terms[name].at(row, query) for name in UNSURE if name in self.terms)
        share = 1.0 if self.share is None else float(self.share[row])
        of_few = (self.noted[name].get((row, query), 0.0) for name in UNSURE if name in self.noted)
        return float(self.scores[row, query]) - share * extra - sum(of_few)

    def confidence(self, rows: Codes, query: int) -> list[float]:
        """The probability of each of some fragments that it answers a query."""
        return list(map(confidence, self.features(rows, query)))

    def why(self, row: int, query: int) -> Why:
        """Why a fragment has its score for a query."""
        bm25, cosine = self.raw.bm25, self.raw.cosine
        share = 1.0 if self.share is None else float(self.share[row])
        terms = {name: share * term.at(row, query) for name, term in self.terms.items()}
        of_few = {
            name: rows[row, query] for name, rows in self.noted.items() if (row, query) in rows
        }
        terms.update(of_few)
        return Why(
            terms=terms,
            bm25=None if bm25 is None else float(bm25[row, query]),
            cosine=None if cosine is None else float(cosine[row, query]),
        )

    def margin(self, query: int) -> float:
        """How much two scores for a query may be nearer to each other, or further, than they are
        here, until ``best`` makes them exact.
        """
        return 0.0 if self.refinement is None else self.refinement.margin(query)

    def best(self, query: int, k: int, allowed: NDArray[np.bool_] | None = None) -> Codes:
        """The rows of the k best fragments for a query, best first; ties by order of arrival."""
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


def top_rows(scores: Floats, k: int, allowed: NDArray[np.bool_] | None) -> Codes:
    """The rows of the k highest of some scores, shape (N,), highest first; ties by row."""
    if allowed is not None:
        among = np.flatnonzero(allowed)
        best: Codes = among[top_rows(scores[among], k, None)]
        return best
    k = min(k, len(scores))
    if not k:
        return np.zeros(0, dtype=np.int64)
    rows = _leading(scores, k)
    leading = scores[rows]
    # All rows that reach the k-th best score: a partition alone would cut ties by chance.
    is_top = leading >= np.partition(leading, len(leading) - k)[len(leading) - k]
    order = np.argsort(-leading[is_top], kind="stable")
    top: Codes = rows[is_top][order][:k]
    return top


def _leading(scores: Floats, k: int) -> Codes:
    """Rows among which are all that reach the k-th best of some scores, ascending; few of many."""
    groups = len(scores) // GROUP
    if groups <= k:
        return np.arange(len(scores))
    # The k-th best of the best of groups is reached by k scores or more, so by the k best of all;
    # there are few such, and the groups' best are found without sorting anything.
    best = scores[: groups * GROUP].reshape(GROUP, groups).max(axis=0)
    return np.flatnonzero(scores >= np.partition(best, groups - k)[groups - k])


def rank(
    snapshot: Snapshot,
    relations: Relations,
    plan: Plan,
    queries: Sequence[str],
    vectors: Floats | None,
    mode: Mode,
    exact: Callable[[Codes], Floats] | None = None,
    allowed: Callable[[], Mask | None] = lambda: None,
    now: datetime | None = None,
) -> Ranking:
    """Score every fragment for every query: ``own + Σ_r α_r · env_r`` (FragRel eq. 10).

    ``allowed`` returns the rows that meet the filter, for a snapshot that cannot have the cosines
    of all. ``exact`` reads the vectors of rows as they were embedded, for a snapshot that has them
    in eight bits: the best rows are then scored by those. ``now`` is an aware time from which "last
    week" counts; None for the clock.
    """
    people = among_people(snapshot, plan)
    plan = people or plan
    cut = pieces_a_message(snapshot, relations, plan)
    plan = beside_messages(plan, cut)
    asked = bonuses(snapshot, plan, queries, cut, now)
    bonus = NAMED_SPEAKER if people is None else NAMED_AMONG_PEOPLE
    line = _Line(
        snapshot,
        relations,
        plan,
        [terms(query) for query in queries],
        _readable(snapshot, queries),
        _named(snapshot, queries, bonus) if plan.get("chat") and mode != "dense" else None,
        asked,
        by_parts(snapshot, plan, queries) if mode != "dense" else None,
        None if people is None else LEXICAL_AMONG_PEOPLE,
    )
    raw = raw_scores(snapshot, line.queries, vectors, mode, partial(line.wanted, allowed))
    plain = line.plain(raw)
    scored = line.scored(plain, raw.cosines)
    refinement = None
    if exact is not None and raw.cosines is not None and vectors is not None:
        alpha = max(_alphas(plan, plain.related))
        dense, parts = plain.own.terms["dense"], plain.parts
        refinement = Refinement(
            snapshot, raw.cosines, dense, vectors, parts, alpha, plain.share, exact
        )
    return Ranking(
        snapshot,
        scored.scores,
        scored.terms,
        raw,
        line.queries,
        scored.standings,
        plan,
        plain.share,
        refinement,
    )


@dataclass(frozen=True, slots=True)
class _PlainScores:
    """The scores of all fragments, (N, Q), and what they are the sum of, but for what a query asks
    for beside its words.
    """

    own: OwnScores
    related: Mapping[str, RelatedTerm]
    terms: Mapping[str, ScoreTerm]
    scores: Floats
    share: Floats | None

    @property
    def parts(self) -> list[RelatedPart]:
        """What relations add."""
        return [part for term in self.related.values() for part in term.parts]


@dataclass(frozen=True, slots=True)
class _WholeScores:
    """The scores of all fragments, (N, Q), with what a query asks for beside its words."""

    scores: Floats
    terms: Mapping[str, ScoreTerm]
    standings: Standings


@dataclass(frozen=True, slots=True)
class _Line:
    """The one line, for some queries: it scores by whatever cosines are known.

    ``named``, ``asked`` and ``of_parts`` are what the queries ask for beside their words, and in
    their parts. ``lexical`` is the weight of BM25, None for that by its coverage.
    """

    snapshot: Snapshot
    relations: Relations
    plan: Plan
    queries: Sequence[Terms]
    readable: Floats | None
    named: NamedTerm | None
    asked: Mapping[str, BonusTerm]
    of_parts: PartsTerm | None
    lexical: np.float32 | None

    def plain(self, raw: RawScores) -> _PlainScores:
        """The scores by BM25 and cosine of every fragment, and by relations."""
        snapshot, plan = self.snapshot, self.plan
        own = fuse(snapshot, raw, self.queries, self.readable, self.lexical)
        scores = own.total()
        related = relate(snapshot, self.relations, plan, scores)
        parts: dict[str, ScoreTerm] = {**own.terms, **related}
        if related:
            add_related(scores, related)
        if self.named is not None:
            self.named.add_to(scores)
            parts["named"] = self.named
        share = _share(snapshot, plan, related) if len(snapshot.kinds) > 1 and parts else None
        if share is not None:
            scores *= share[:, None]
        return _PlainScores(own, related, parts, scores, share)

    def scored(self, plain: _PlainScores, cosines: Cosines | None) -> _WholeScores:
        """Those scores with what the queries ask for; those of ``plain`` change in place."""
        standings = Standings.of(plain.scores, cosines)
        terms = dict(plain.terms)
        for name, term in self._of_queries(cosines).items():
            term.add_to(plain.scores, plain.share)
            terms[name] = term
        return _WholeScores(plain.scores, terms, standings)

    def wanted(self, allowed: Callable[[], Mask | None], bm25: Floats | None) -> Wanted:
        """The rows whose cosines are needed, given BM25."""
        # Few rows may be of the time that a query names: the nearest of all need not be among them.
        of_time = self.asked.get(When().name)
        favoured = [None] * len(self.queries) if of_time is None else of_time.rows
        return Wanted(allowed, favoured, partial(self._promising, allowed, bm25))

    def _promising(
        self, allowed: Callable[[], Mask | None], bm25: Floats | None, cosines: Cosines
    ) -> list[Codes]:
        """The best rows by the cosines that are known so far, and the rows near them, by query."""
        plain = self.plain(RawScores(bm25, cosines))
        for term in self._of_queries(cosines).values():
            term.add_to(plain.scores, plain.share)
        best = [np.sort(top_rows(column, BEST, allowed())) for column in plain.scores.T]
        return [neighbours(self.snapshot, self.relations, self.plan, rows) for rows in best]

    def _of_queries(self, cosines: Cosines | None) -> dict[str, BonusTerm | PartsTerm]:
        """The terms of what queries ask for beside their words, and in their parts."""
        of_queries: dict[str, BonusTerm | PartsTerm] = {
            name: term.among(cosines) for name, term in self.asked.items()
        }
        if self.of_parts is not None:
            of_queries[Parts().name] = self.of_parts
        return of_queries


def _readable(snapshot: Snapshot, queries: Sequence[str]) -> Floats | None:
    """The share of each query that the bundled model can read, which learnt English alone.

    None for another model, which may have learnt anything.
    """
    model = snapshot.state.model
    if model is None or model.name != BUNDLED:
        return None
    return np.array([latin_share(query) for query in queries], dtype=np.float32)


def _share(snapshot: Snapshot, plan: Plan, related: Mapping[str, RelatedTerm]) -> Floats:
    """``1 / (1 + Σα)`` of each row's kind of content, shape (N,).

    The more relations a kind has the larger are its scores; where several kinds compete, each
    score becomes a weighted mean of own and environment scores. The order within a kind stays.
    """
    weights = [1 + alpha for alpha in _alphas(plan, related)]
    share: Floats = np.reciprocal(np.array(weights, dtype=np.float32))[snapshot.kind]
    return share


def _alphas(plan: Plan, related: Mapping[str, RelatedTerm]) -> list[float]:
    """``Σα`` of each kind of content, of the relations that have something to say."""
    return [
        sum(weighted.alpha for weighted in plan.get(kind, ()) if weighted.relation.name in related)
        for kind in KINDS
    ]


def _named(snapshot: Snapshot, queries: Sequence[str], bonus: np.float32) -> NamedTerm | None:
    """The bonus for the speakers that a query names; None if none names one."""
    names = SpeakerNames.from_names(snapshot.speakers)
    speakers = [names.codes(query) for query in queries]
    if not any(speakers):
        return None
    return NamedTerm(snapshot.items.speaker, speakers, len(names.names), bonus)
