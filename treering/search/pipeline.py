"""The pipeline of a search: own scores, then the contributions of signals, for all fragments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treering.arrays import Codes
from treering.search.environment import (
    Signals,
    beside_messages,
    make_refinement,
    neighbours,
    pieces_a_message,
    signals_by_stage,
    sum_alphas,
)
from treering.search.ranking import (
    Contribution,
    Ranking,
    RawScores,
    RowValues,
    Signal,
    Stage,
    is_mask,
    top_rows,
)
from treering.search.relations.contract import (
    Relations,
    among_people,
)
from treering.search.scores import (
    BUNDLED,
    Standings,
    cosine_scores,
    fuse,
    own_total,
)
from treering.search.signals.question import When
from treering.search.snapshot import Cosines, Snapshot, Wanted
from treering.search.terms import is_english

if TYPE_CHECKING:
    from treering.search.hits import RowReader
    from treering.search.searcher import Search

BEST = 128
"""Rows that are promising by the cosines that are known at first, where most are missing."""

Contributions = Sequence[tuple[Signal, Contribution]]


def rank(
    snapshot: Snapshot, relations: Relations, search: Search, rows: RowReader | None = None
) -> Ranking:
    """Score every fragment: ``own + Σ_r α_r · env_r`` (FragRel eq. 10), and the contributions of
    further signals. Without a reader of ``rows`` no signal reads the best hits.
    """
    ranking, signals, asked = _begin(snapshot, relations, search, rows)
    raw = search.raw
    if raw is None or raw.version != snapshot.version:
        raw = _raw_scores(ranking, signals, asked)
    ranking.bm25, ranking.cosines = raw.bm25, raw.cosines
    _score(ranking, signals, asked)
    ranking.refinement = make_refinement(ranking)
    if rows is not None:
        for stage in (Stage.SOURCES, Stage.MENTIONS):  # these look at the best rows
            ranking.add(contributions(signals[stage], ranking))
    return ranking


def measure(snapshot: Snapshot, relations: Relations, search: Search, rows: RowReader) -> RawScores:
    """Return BM25 and cosines, by which ``rank`` scores the fragments of one of several spaces."""
    return _raw_scores(*_begin(snapshot, relations, search, rows))


def _begin(
    snapshot: Snapshot, relations: Relations, search: Search, rows: RowReader | None
) -> tuple[Ranking, Signals, Contributions]:
    """Return a ranking without scores, its signals, and contributions that need no scores."""
    plan = among_people(snapshot, search.plan) or search.plan
    cut = pieces_a_message(snapshot, relations, plan)
    ranking = Ranking(snapshot, relations, beside_messages(plan, cut), search, cut, rows)
    model = snapshot.state.model
    if model is not None and model.name == BUNDLED:  # another may have learned any language
        ranking.readable = is_english(search.query)
    signals = signals_by_stage(ranking)
    return ranking, signals, contributions(signals[Stage.QUESTION], ranking)


def _raw_scores(ranking: Ranking, signals: Signals, asked: Contributions) -> RawScores:
    """Return BM25 and cosines of all fragments, or of those that may be among the best."""
    snapshot, search = ranking.snapshot, ranking.search
    bm25 = None if search.mode == "dense" else snapshot.lexical.score(search.terms)
    wanted = _wanted_rows(replace(ranking, bm25=bm25), signals, asked)
    cosines = cosine_scores(snapshot, search.vector, search.mode, bm25, wanted)
    return RawScores(snapshot.version, bm25, cosines)


def _score(ranking: Ranking, signals: Signals, asked: Contributions) -> None:
    """Score all fragments by words, meaning and surroundings, and by signals of the question."""
    snapshot, union = ranking.snapshot, ranking.search.union
    own = fuse(snapshot, ranking.bm25, ranking.cosines, ranking.readable, union)
    ranking.scores = own_total(own, len(snapshot))
    ranking.terms = dict(own)
    ranking.add(contributions(signals[Stage.ROWS], ranking))
    if len(union.kinds if union else snapshot.kinds) > 1 and ranking.terms:
        weights = [1 + alpha for alpha in sum_alphas(ranking)]
        ranking.share = np.reciprocal(np.array(weights, dtype=np.float32))[snapshot.kind]
        ranking.scores *= ranking.share
    ranking.standings = Standings.from_scores(ranking.scores, ranking.cosines)
    ranking.add(asked)


def contributions(signals: Sequence[Signal], ranking: Ranking) -> Contributions:
    """Return the contributions of signals that see the same ranking."""
    pairs = [(signal, signal.contribute(ranking)) for signal in signals]
    return [(signal, term) for signal, term in pairs if term is not None]


def _wanted_rows(ranking: Ranking, signals: Signals, asked: Contributions) -> Wanted:
    """Return the rows whose cosines are needed, for a space that cannot compute all."""
    allowed = None if ranking.rows is None else ranking.rows.allowed
    # Few rows may be of the time that a query names: the nearest of all need not be among them.
    times = [term for signal, term in asked if isinstance(signal, When)]
    of_time = times[0].rows if times and isinstance(times[0], RowValues) else None
    favoured = of_time if is_mask(of_time) else None

    def promising_rows(cosines: Cosines) -> Codes:
        trial = replace(ranking, cosines=cosines, terms={}, doubtful=set())
        _score(trial, signals, asked)
        return neighbours(trial, np.sort(top_rows(trial.scores, BEST, allowed)))

    return Wanted(allowed, favoured, promising_rows)
