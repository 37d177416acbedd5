"""Plans: the relations and signals of each kind of content, their weights and their operators."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from treering.arrays import Floats
from treering.parallel import for_each_piece
from treering.records import Kind
from treering.search.relations.contract import (
    Items,
    NullOperator,
    Operator,
    Relation,
    RowChange,
)

if TYPE_CHECKING:
    from treering.search.snapshot import Snapshot

USER: Final = "user"
ASSISTANT: Final = "assistant"

LEARNED: Final[Mapping[str, float]] = json.loads(
    files("treering.search").joinpath("weights.json").read_text("utf-8")
)["weights"]
"""The weights of chats between people as multiples of that of cosines, by term. Learned by
``treering-bench learn``; ``benchmarks/results/learn.json`` has what they find."""

MAX_BOUND = 16  # operators kept: a search uses a handful, and each holds some bytes an item


class Term(Protocol):
    """A relation or a signal: ``name`` is its key in ``Hit.why``."""

    @property
    def name(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Weighted:
    """A relation or a signal and its weight α (FragRel eq. 10).

    ``among_people`` is the weight in chats without an assistant; None for ``alpha`` there, too.
    """

    relation: Term
    alpha: float
    among_people: float | None = None

    def __str__(self) -> str:
        """Such as ``context(w=0.3, within=document) @ 0.5``; other people's relations by name."""
        name, parameters = self.relation.name, ""
        if is_dataclass(self.relation):
            values: dict[str, Any] = asdict(self.relation)
            parameters = ", ".join(f"{key}={values[key]}" for key in values if key != "name")
        return (
            f"{name}({parameters}) @ {self.alpha:g}" if parameters else f"{name} @ {self.alpha:g}"
        )


Plan = Mapping[Kind, Sequence[Weighted]]


def alpha_of(plan: Plan, kind: Kind, name: str) -> float:
    """Return the weight of a term for a kind of content, 0 if the plan lacks it."""
    return next((w.alpha for w in plan.get(kind, ()) if w.relation.name == name), 0.0)


def has_weights_of_people(plan: Plan) -> bool:
    """Return whether chats between people have weights of their own in a plan."""
    return any(weighted.among_people is not None for weighted in plan.get("chat", ()))


def among_people(snapshot: Snapshot, plan: Plan) -> Plan | None:
    """Return the plan for chats between people; None for other chats, or without such weights.

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


@dataclass(frozen=True, slots=True)
class Bound:
    """An operator over the items of one version of a space; ``share`` is ``1 / W·1``, shape (N,),
    or (1,) if it is the same for all.
    """

    version: int
    operator: Operator
    share: Floats


class Relations:
    """Binds relations to the items of one version of a space, and keeps the operators."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: int | None = None
        self._bound: OrderedDict[Relation, Bound] = OrderedDict()

    def environment(self, relation: Relation, items: Items, version: int, own: Floats) -> Floats:
        """Return ``env = W·own / W·1`` (eq. 9); 0 for an item related to nothing."""
        bound = self.bound(relation, items, version)
        env = bound.operator.propagate(own)
        env *= bound.share if own.ndim == 1 else bound.share[:, None]
        return env

    def bound(
        self, relation: Relation, items: Items, version: int, change: RowChange | None = None
    ) -> Bound:
        """Return the operator over items, made from an earlier one if only a change came."""
        # Binding may sort all items: searches that arrive together wait for one operator.
        with self._lock:
            if self._version != version:
                self._version = version
                self._keep_only(None if change is None else change.before)
            bound = self._bound.get(relation)
            if bound is None or bound.version != version:
                operator = _rebind(relation, bound, items, change) or relation.bind(items)
                bound = Bound(version, operator, _shares(operator))
                self._bound[relation] = bound
                while len(self._bound) > MAX_BOUND:
                    self._bound.popitem(last=False)
            self._bound.move_to_end(relation)
            return bound

    def _keep_only(self, version: int | None) -> None:
        """Drop all operators but those from which the present ones can be made."""
        for relation, bound in list(self._bound.items()):
            if bound.version != version or not hasattr(relation, "rebind"):
                del self._bound[relation]


def _rebind(
    relation: Relation, before: Bound | None, items: Items, change: RowChange | None
) -> Operator | None:
    rebind = getattr(relation, "rebind", None)
    if before is None or change is None or rebind is None:
        return None
    operator: Operator | None = rebind(before.operator, items, change)
    return operator


def _shares(operator: Operator) -> Floats:
    """Return ``1 / W·1``; for an operator that relates nothing a single 0, for all items."""
    if isinstance(operator, NullOperator):
        return np.zeros(1, dtype=np.float32)
    mass = operator.mass()
    inverse = np.zeros_like(mass)

    def divide(rows: slice) -> None:
        np.divide(1, mass[rows], out=inverse[rows], where=mass[rows] > 0)

    for_each_piece(divide, len(mass))
    return inverse
