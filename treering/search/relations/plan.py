"""Plans: which relations and signals a search uses of each kind of content, and their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from math import inf
from typing import Any, Protocol

from treering.errors import InputError
from treering.records import Kind

OWN_TERMS = frozenset({"lexical", "dense"})
"""Keys of ``Hit.why`` that no relation may take."""


class Term(Protocol):
    """A relation or a signal: ``name`` is its key in ``Hit.why``."""

    @property
    def name(self) -> str:
        """The name, such as ``context``."""
        ...


@dataclass(frozen=True, slots=True)
class Weighted:
    """A relation or a signal and its weight α (FragRel eq. 10).

    ``among_people`` is the weight in chats without an assistant; None for ``alpha`` there, too.
    """

    relation: Term
    alpha: float
    among_people: float | None = None

    def __str__(self) -> str:
        """Such as ``context(w=0.3, within=document) @ 0.5``; a relation of others by its name."""
        parameters = ""
        if is_dataclass(self.relation):
            values: dict[str, Any] = asdict(self.relation)
            named = (f"{name}={value}" for name, value in values.items() if name != "name")
            parameters = ", ".join(named)
        called = f"{self.relation.name}({parameters})" if parameters else self.relation.name
        return f"{called} @ {self.alpha:g}"


Plan = Mapping[Kind, Sequence[Weighted]]


def check_plan(plan: Plan) -> None:
    """Raise InputError for an invalid weight, and for names that ``why`` would confuse."""
    for kind, choices in plan.items():
        names = [choice.relation.name for choice in choices]
        if taken := sorted(OWN_TERMS.intersection(names)):
            raise InputError(
                f"{taken[0]!r} is a term of the own score; give the relation another name"
            )
        for choice in choices:
            if type(choice.relation).__hash__ is None:
                raise InputError(
                    f"relation {choice.relation.name!r} has no hash, by which its operator is kept;"
                    " make it a frozen dataclass, or leave out its __eq__"
                )
            if not 0 <= choice.alpha < inf:
                raise InputError(
                    f"alpha of {choice.relation.name} is {choice.alpha}; "
                    "it must be finite and at least 0"
                )
        if len(set(names)) < len(names):
            raise InputError(
                f"two relations for {kind} share a name ({', '.join(names)}); give one another name"
            )


def alpha_of(plan: Plan, kind: Kind, name: str) -> float:
    """The weight of a relation or signal for a kind of content, 0 if it is not in the plan."""
    return next((w.alpha for w in plan.get(kind, ()) if w.relation.name == name), 0.0)
