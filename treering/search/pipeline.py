"""The pipeline of a search: base scores, then the contributions of signals, for all fragments.

A relation is a signal that adds ``α·env`` to the scores of all rows (FragRel eq. 9 and 10).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, for_each_piece, union
from treering.records import KINDS, Kind
from treering.search.ranking import (
    LEAST_SHARE,
    Contribution,
    Ranking,
    Refinement,
    RowValues,
    Signal,
    Stage,
    is_mask,
    top_rows,
)
from treering.search.relations.contract import (
    Bound,
    NullOperator,
    Operator,
    Plan,
    Relations,
    Weighted,
    among_people,
    is_local,
    is_relation,
)
from treering.search.relations.decay import ContextRelation
from treering.search.relations.group import MessageOperator, WholeMessage
from treering.search.scores import (
    BUNDLED,
    ScaledScores,
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

MOST_PIECES = 32
"""Pieces of a message on either side of one that are looked for."""

Signals = Mapping[Stage, Sequence[Signal]]
Contributions = Sequence[tuple[Signal, Contribution]]


def rank(
    snapshot: Snapshot, relations: Relations, search: Search, rows: RowReader | None = None
) -> Ranking:
    """Score every fragment: ``own + Σ_r α_r · env_r`` (FragRel eq. 10), and the contributions of
    further signals. Without a reader of ``rows`` no signal reads the best hits.
    """
    plan = among_people(snapshot, search.plan) or search.plan
    cut = pieces_a_message(snapshot, relations, plan)
    ranking = Ranking(snapshot, relations, beside_messages(plan, cut), search, cut, rows)
    model = snapshot.state.model
    if model is not None and model.name == BUNDLED:  # another may have learned any language
        ranking.readable = is_english(search.query)
    signals = signals_by_stage(ranking)
    asked = contributions(signals[Stage.QUESTION], ranking)
    ranking.bm25 = None if search.mode == "dense" else snapshot.lexical.score(search.terms)
    wanted = _wanted_rows(ranking, signals, asked)
    ranking.cosines = cosine_scores(snapshot, search.vector, search.mode, ranking.bm25, wanted)
    _score(ranking, signals, asked)
    ranking.refinement = make_refinement(ranking)
    if rows is not None:
        for stage in (Stage.SOURCES, Stage.MENTIONS):  # these look at the best rows
            ranking.add(contributions(signals[stage], ranking))
    return ranking


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


@dataclass(frozen=True, slots=True)
class EnvironmentPart:
    """The part of one kind of content: ``weight·values``.

    ``values`` are ``operator(own)`` until ``add_to`` multiplies them by the weight. ``share``,
    shape (N,), is one over the mass; ``is_kind`` says which rows count, None for all.
    """

    values: Floats
    alpha: np.float32
    share: Floats
    is_kind: NDArray[np.bool_] | None
    operator: Operator

    def weight(self, rows: slice | Codes) -> Floats:
        """Return α over the mass of some rows, and 0 for those of other kinds."""
        weight: Floats = self.share[rows] * self.alpha
        if self.is_kind is not None:
            weight *= self.is_kind[rows]
        return weight


@dataclass(frozen=True, slots=True)
class EnvironmentTerm:
    """``α·env`` of a relation. Several kinds of content may each have a part."""

    parts: list[EnvironmentPart]

    def at(self, row: int) -> float:
        """See ``Contribution``."""
        return sum(float(part.values[row]) for part in self.parts)

    def add_to(self, scores: Floats, share: Floats | None = None) -> None:  # noqa: ARG002
        """See ``Contribution``. It is added before the scores get their share."""

        def add(rows: slice) -> None:
            for part in self.parts:
                values = part.values[rows]
                values *= part.weight(rows)
                scores[rows] += values

        for_each_piece(add, len(scores))


@dataclass(frozen=True, slots=True)
class Environment:
    """A relation as a signal over all rows; each kind of content may have another choice of it."""

    stage: ClassVar[Stage] = Stage.ROWS
    is_evidence: ClassVar[bool] = True

    name: str
    choices: Mapping[Kind, Weighted]

    def contribute(self, ranking: Ranking) -> EnvironmentTerm | None:
        """Propagate base scores over all rows; only the rows of each kind get its term."""
        snapshot, parts = ranking.snapshot, []
        for kind, weighted in self.choices.items():
            bound = bind(ranking.relations, snapshot, weighted)
            if isinstance(bound.operator, NullOperator):
                continue
            is_kind = None if len(snapshot.kinds) == 1 else snapshot.kind == KINDS.index(kind)
            values, alpha = bound.operator.propagate(ranking.scores), np.float32(weighted.alpha)
            parts.append(EnvironmentPart(values, alpha, bound.share, is_kind, bound.operator))
        return EnvironmentTerm(parts) if parts else None


def signals_by_stage(ranking: Ranking) -> Signals:
    """Return the signals of a plan; each relation is a signal over all rows."""
    by_name: dict[str, dict[Kind, Weighted]] = defaultdict(dict)
    for kind in ranking.snapshot.kinds:
        for weighted in ranking.plan.get(kind, ()):
            by_name[weighted.relation.name][kind] = weighted
    by_stage: dict[Stage, list[Signal]] = {stage: [] for stage in Stage}
    for name, choices in by_name.items():
        term = next(iter(choices.values())).relation
        signal = Environment(name, choices) if is_relation(term) else cast("Signal", term)
        by_stage[signal.stage].append(signal)
    return by_stage


def sum_alphas(ranking: Ranking) -> list[float]:
    """Return ``Σα`` of each kind of content, of the relations that have a term.

    The more relations a kind has the larger are its scores; where several kinds compete, each
    score becomes a weighted mean of own and environment scores. The order within a kind stays.
    """
    related = {name for name, term in ranking.terms.items() if isinstance(term, EnvironmentTerm)}
    choices = [ranking.plan.get(kind, ()) for kind in KINDS]
    return [sum(one.alpha for one in every if one.relation.name in related) for every in choices]


def make_refinement(ranking: Ranking) -> Refinement | None:
    """Return what makes the best scores exact, if vectors of eight bits have scored them."""
    vector, cosines = ranking.search.vector, ranking.cosines
    exact = None if ranking.rows is None else ranking.rows.exact
    if exact is None or cosines is None or vector is None:
        return None
    terms = [term for term in ranking.terms.values() if isinstance(term, EnvironmentTerm)]
    parts = [part for term in terms for part in term.parts]
    dense, alpha = cast(ScaledScores, ranking.terms["dense"]), max(sum_alphas(ranking))
    return Refinement(ranking.snapshot, cosines, dense, vector, parts, alpha, ranking.share, exact)


def bind(relations: Relations, snapshot: Snapshot, weighted: Weighted) -> Bound:
    """Return a relation bound to the items of a snapshot."""
    assert is_relation(weighted.relation)  # callers leave out signals
    return relations.bound(weighted.relation, snapshot.items, snapshot.version, snapshot.change)


def pieces_a_message(snapshot: Snapshot, relations: Relations, plan: Plan) -> float:
    """Return how many pieces a message of a chat has on average; 1 if messages are hardly cut, or
    if the plan has no relation of whole messages.
    """
    chosen = next((w for w in plan.get("chat", ()) if isinstance(w.relation, WholeMessage)), None)
    if chosen is None or "chat" not in snapshot.kinds:
        return 1.0
    operator = bind(relations, snapshot, chosen).operator
    return operator.pieces if isinstance(operator, MessageOperator) else 1.0


def beside_messages(plan: Plan, cut: float) -> Plan:
    """Return the plan for chats whose messages are cut into so many pieces.

    The neighbours of a piece are then mostly of the same message, which ``WholeMessage`` counts: so
    the context of a whole message counts as much as that of one that is not cut.
    """
    chat = [
        Weighted(weighted.relation, weighted.alpha / cut)
        if isinstance(weighted.relation, ContextRelation)
        else weighted
        for weighted in plan.get("chat", ())
    ]
    return plan if cut == 1 else {**plan, "chat": chat}


def neighbours(ranking: Ranking, rows: Codes) -> Codes:
    """Return these rows and those whose scores count much at them, by local relations."""
    near, snapshot = rows, ranking.snapshot
    for weighted in (choice for kind in snapshot.kinds for choice in ranking.plan.get(kind, ())):
        if not is_relation(weighted.relation):
            continue
        operator = bind(ranking.relations, snapshot, weighted).operator
        if is_local(operator):
            near = union(near, operator.near(rows, LEAST_SHARE))
        elif isinstance(operator, MessageOperator):
            near = union(near, _pieces(snapshot.entry, rows))
    return near


def _pieces(entry: Codes, rows: Codes) -> Codes:
    """Return the rows of the same entries, which came one after the other."""
    reached = [rows]
    for step in (-1, 1):
        at = rows
        for _ in range(MOST_PIECES):
            inside = (at + step >= 0) & (at + step < len(entry))
            at = at[inside]
            at = at[entry[at] == entry[at + step]] + step
            if not len(at):
                break
            reached.append(at)
    return union(*reached)
