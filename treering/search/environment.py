"""Relations as signals: each adds ``α·env`` to the scores of all rows (FragRel eq. 9 and 10)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, union
from treering.parallel import for_each_piece
from treering.records import KINDS, Kind
from treering.search.ranking import LEAST_SHARE, Ranking, Refinement, Signal, Stage
from treering.search.relations.contract import (
    Bound,
    NullOperator,
    Operator,
    Plan,
    Relations,
    Weighted,
    is_local,
    is_relation,
)
from treering.search.relations.decay import ContextRelation
from treering.search.relations.group import MessageOperator, WholeMessage
from treering.search.scores import ScaledScores

if TYPE_CHECKING:
    from treering.search.snapshot import Snapshot

Signals = Mapping[Stage, Sequence[Signal]]

MOST_PIECES = 32
"""Pieces of a message on either side of one that are looked for."""


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
        """Propagate own scores over all rows; only the rows of each kind get its term."""
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
