"""Relations by name: the built-in ones and those of other packages' entry points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points

from treering.errors import InputError, UnknownName
from treering.records import KINDS, Kind
from treering.relate.combine import check_plan
from treering.relate.contract import Relation, RelationFactory
from treering.relate.decay import Context, Time
from treering.relate.defaults import Weighted
from treering.relate.group import Session, Speaker
from treering.relate.semantic import Semantic

GROUP = "treering.relations"
ALPHA = 0.5  # FragRel's default weight, for a relation named without one

BUILT_IN: Mapping[str, RelationFactory] = {
    "context": Context,
    "time": Time,
    "semantic": Semantic,
    "session": Session,
    "speaker": Speaker,
}

Plan = Mapping[Kind, Sequence[Weighted]]
Named = str | Relation | Weighted
Chosen = Sequence[Named]


def relation(name: str, others: Sequence[str] = ()) -> Relation:
    """The relation of that name with its default parameters. Raises UnknownName.

    ``others`` are names that a memory knows beside: the relations of its views.
    """
    factory = BUILT_IN.get(name)
    if factory is None:
        found = entry_points(group=GROUP, name=name)
        if not found:
            known = sorted({*BUILT_IN, *others, *entry_points(group=GROUP).names})
            raise UnknownName(f"no relation {name!r}; there are {', '.join(known)}")
        factory = next(iter(found)).load()
    return factory()


def plan(
    defaults: Plan,
    chosen: Chosen | None,
    alpha: float | Mapping[str, float] | None,
    others: Sequence[str] = (),
) -> Plan:
    """What a search uses: the defaults or the relations chosen, with the weights given.

    A relation chosen by name has the parameters and weight that the defaults give it for a kind of
    content, if they name it. ``alpha`` sets the weight of all relations, or of each by name;
    ``others`` are further names that there are.
    Raises UnknownName and InputError.
    """
    if isinstance(chosen, str):
        raise InputError(f"relations is the text {chosen!r}; give a list such as [{chosen!r}]")
    by_kind = {
        kind: list(defaults.get(kind, ()))
        if chosen is None
        else [_resolve(one, defaults.get(kind, ()), others) for one in chosen]
        for kind in KINDS
    }
    if alpha is not None:
        by_kind = {kind: _reweighted(found, alpha) for kind, found in by_kind.items()}
    check_plan(by_kind)
    return by_kind


def _resolve(
    one: str | Relation | Weighted, defaults: Sequence[Weighted], others: Sequence[str]
) -> Weighted:
    if isinstance(one, Weighted):
        return one
    if isinstance(one, str):
        known = next((default for default in defaults if default.relation.name == one), None)
        return known or Weighted(relation(one, others), ALPHA)
    if not isinstance(one, Relation):
        raise InputError(f"relation {one!r}; give a name, a Relation or a Weighted")
    return Weighted(one, ALPHA)


def _reweighted(found: Sequence[Weighted], alpha: float | Mapping[str, float]) -> list[Weighted]:
    if not isinstance(alpha, Mapping):
        return [Weighted(one.relation, float(alpha)) for one in found]
    unknown = set(alpha) - {one.relation.name for one in found}
    if unknown and found:
        names = ", ".join(one.relation.name for one in found)
        raise UnknownName(f"alpha for {', '.join(sorted(unknown))}; the relations are {names}")
    return [Weighted(one.relation, float(alpha.get(one.relation.name, one.alpha))) for one in found]
