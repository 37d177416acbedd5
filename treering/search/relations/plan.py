"""Plans: which relations and signals a search uses of each kind of content, and their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Protocol

from treering.records import Kind


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
