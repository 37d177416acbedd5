"""What relations add to own scores: ``α·env`` of each, for the kinds of content that use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, union
from treering.parallel import for_each_piece
from treering.records import KINDS
from treering.search.named import SpeakerNames
from treering.search.relations.combine import Relations
from treering.search.relations.contract import NullOperator, Operator, Relation, is_local
from treering.search.relations.decay import ContextRelation
from treering.search.relations.defaults import Weighted
from treering.search.relations.group import MessageOperator, WholeMessage
from treering.search.relations.registry import Plan, alpha_of
from treering.search.snapshot import Snapshot

USER: Final = "user"
ASSISTANT: Final = "assistant"

LEAST_SHARE = 0.02
"""Neighbours of which a relation passes on less are not looked for."""

MOST_PIECES = 32
"""Pieces of a message on either side of one that are looked for."""


@dataclass(frozen=True, slots=True)
class RelatedPart:
    """The part of one kind of content: ``weight·values`` for values of shape (N, Q).

    ``values`` are ``operator(own)`` until ``add_related`` puts the weight in. ``share``, shape
    (N,), is one over the mass; ``is_kind`` says which rows count, and is None where all do.
    """

    values: Floats
    alpha: np.float32
    share: Floats
    is_kind: NDArray[np.bool_] | None
    operator: Operator

    def weight(self, rows: slice | Codes) -> Floats:
        """α over the mass of some rows, and 0 for those of other kinds."""
        weight: Floats = self.share[rows] * self.alpha
        if self.is_kind is not None:
            weight *= self.is_kind[rows]
        return weight


@dataclass(frozen=True, slots=True)
class RelatedTerm:
    """``α·env`` of a relation, shape (N, Q). Several kinds of content may each have a part."""

    parts: list[RelatedPart]

    def at(self, row: int, query: int) -> float:
        """That of one row for one query."""
        return sum(float(part.values[row, query]) for part in self.parts)


def relate(
    snapshot: Snapshot, relations: Relations, plan: Plan, own: Floats
) -> dict[str, RelatedTerm]:
    """The terms ``α·env`` of every relation by name, for own scores of shape (N, Q).

    Each kind of content has its own relations, so a fragment's terms are those of its kind. A
    relation that has nothing to say of any item has no term.
    """
    related: dict[str, RelatedTerm] = {}
    for kind in snapshot.kinds:
        for weighted in plan.get(kind, ()):
            bound = relations.bound(
                weighted.relation, snapshot.items, snapshot.version, snapshot.change
            )
            if isinstance(bound.operator, NullOperator):
                continue
            # A relation propagates over all items; only the terms of its own kind count.
            is_alone = len(snapshot.kinds) == 1
            is_kind = None if is_alone else snapshot.kind == KINDS.index(kind)
            values, alpha = bound.operator.propagate(own), np.float32(weighted.alpha)
            part = RelatedPart(values, alpha, bound.share, is_kind, bound.operator)
            related.setdefault(weighted.relation.name, RelatedTerm([])).parts.append(part)
    return related


def weight_of_rows(
    snapshot: Snapshot, plan: Plan, relation: type[Relation], times: float = 1.0
) -> np.float32 | Floats | None:
    """What a relation counts at rows by their kind of content, ``times`` its weight.

    One number where all are of a kind, else shape (N,); None where it counts nowhere.
    """
    alphas = np.array([times * alpha_of(plan, kind, relation) for kind in KINDS], dtype=np.float32)
    here = alphas[[KINDS.index(kind) for kind in snapshot.kinds]]
    if not here.any():
        return None
    return np.float32(here[0]) if len(here) == 1 else alphas[snapshot.kind]


def pieces_a_message(snapshot: Snapshot, relations: Relations, plan: Plan) -> float:
    """How many pieces the messages of chats are cut into on average; 1 where they are hardly cut.

    So it is too where no relation is told of whole messages.
    """
    chosen = next((w for w in plan.get("chat", ()) if isinstance(w.relation, WholeMessage)), None)
    if chosen is None or "chat" not in snapshot.kinds:
        return 1.0
    operator = relations.bound(
        chosen.relation, snapshot.items, snapshot.version, snapshot.change
    ).operator
    return operator.pieces if isinstance(operator, MessageOperator) else 1.0


def has_weights_of_people(plan: Plan) -> bool:
    """Whether chats between people have weights of their own in a plan."""
    return any(weighted.among_people is not None for weighted in plan.get("chat", ()))


def names_among_people(
    snapshot: Snapshot, plan: Plan, before: SpeakerNames | None
) -> SpeakerNames | None:
    """The names that queries are embedded without; None where they are embedded as they are.

    ``before`` are those of an earlier snapshot: names are split into words once.
    """
    if among_people(snapshot, plan) is None:
        return None
    is_same = before is not None and before.names == snapshot.speakers
    return before if is_same else SpeakerNames.from_names(snapshot.speakers)


def among_people(snapshot: Snapshot, plan: Plan) -> Plan | None:
    """The plan for chats between people; None for other chats, or if the plan has no such weights.

    A chat is between people if the space has no message of an assistant, and none of a speaker
    called ``user``. The result has ``among_people``, so a second call returns the same plan.
    """
    with_assistant = snapshot.state.has_assistant or USER in snapshot.names.speakers
    if "chat" not in snapshot.kinds or with_assistant or not has_weights_of_people(plan):
        return None
    people = [
        weighted
        if weighted.among_people is None
        else Weighted(weighted.relation, weighted.among_people, weighted.among_people)
        for weighted in plan["chat"]
    ]
    return {**plan, "chat": people}


def beside_messages(plan: Plan, cut: float) -> Plan:
    """The plan for chats whose messages are cut into so many pieces.

    What stands beside a piece is mostly of the same message then, of which ``WholeMessage`` tells:
    the context of the whole message counts as much as that of one that is not cut.
    """
    if cut == 1:
        return plan
    chat = [
        Weighted(weighted.relation, weighted.alpha / cut)
        if isinstance(weighted.relation, ContextRelation)
        else weighted
        for weighted in plan.get("chat", ())
    ]
    return {**plan, "chat": chat}


def neighbours(snapshot: Snapshot, relations: Relations, plan: Plan, rows: Codes) -> Codes:
    """These rows and those whose scores count much at them, by the relations that reach few."""
    near = rows
    for weighted in (weighted for kind in snapshot.kinds for weighted in plan.get(kind, ())):
        relation, items = weighted.relation, snapshot.items
        bound = relations.bound(relation, items, snapshot.version, snapshot.change)
        if is_local(bound.operator):
            near = union(near, bound.operator.near(rows, LEAST_SHARE))
        elif isinstance(relation, WholeMessage) and not isinstance(bound.operator, NullOperator):
            near = union(near, _pieces(snapshot.entry, rows))
    return near


def _pieces(entry: Codes, rows: Codes) -> Codes:
    """The rows of the same entries, which came one after the other."""
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


def add_related(total: Floats, related: Mapping[str, RelatedTerm]) -> None:
    """Add all terms of relations to own scores, and put the weights into the terms' values."""
    parts = [part for term in related.values() for part in term.parts]

    def add(rows: slice) -> None:
        for query in range(total.shape[1]):
            for part in parts:
                values = part.values[rows, query]
                values *= part.weight(rows)
                total[rows, query] += values

    for_each_piece(add, len(total))
