"""Relations by name: the built-in ones and those of other packages' entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from treering.errors import InputError, UnknownName
from treering.plugins import plugins
from treering.records import KINDS
from treering.search.relations.contract import Relation, RelationFactory
from treering.search.relations.decay import ContextRelation, Time
from treering.search.relations.group import Session, Speaker, WholeMessage
from treering.search.relations.plan import Plan, Term, Weighted, check_plan
from treering.search.relations.semantic import Semantic
from treering.search.signals.mentions import Mention
from treering.search.signals.parts import Parts
from treering.search.signals.question import NamedSpeaker, ReplyTo, Role, When, Wish
from treering.search.signals.sources import NamedSource

GROUP = "treering.relations"
ALPHA = 0.5  # FragRel's default weight, for a relation named without one

BUILT_IN: Mapping[str, Callable[..., Term]] = {
    "context": ContextRelation,
    "time": Time,
    "semantic": Semantic,
    "session": Session,
    "speaker": Speaker,
    "message": WholeMessage,
    "named": NamedSpeaker,
    "mention": Mention,
    "when": When,
    "role": Role,
    "wish": Wish,
    "parts": Parts,
    "source": NamedSource,
    "reply": ReplyTo,
}

Named = str | Relation | Weighted
Chosen = Sequence[Named]


def relation(name: str, others: Sequence[str] = ()) -> Term:
    """The relation of that name with its default parameters. Raises UnknownName.

    ``others`` are the relations that the memory's views add; an error names them too.
    """
    factory = BUILT_IN.get(name)
    if factory is None:
        points = plugins(GROUP)
        if name not in points.names:
            names = sorted({*BUILT_IN, *others, *points.names})
            raise UnknownName(
                f"no relation {name!r}; there are {', '.join(names)}", param="relations"
            )
        return _only(points[name].load())
    return factory()


@cache
def _only(factory: RelationFactory) -> Relation:
    """The one relation of a package's factory: an operator is kept for a relation and its equals,
    and who writes a relation may not have said what is equal to it.
    """
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
    ``others`` are further names, for errors. Raises UnknownName and InputError.
    """
    if isinstance(chosen, str):
        raise InputError(
            f"relations is the text {chosen!r}; give a list such as [{chosen!r}]", param="relations"
        )
    by_kind = {
        kind: list(defaults.get(kind, ()))
        if chosen is None
        else [_resolve(choice, defaults.get(kind, ()), others) for choice in chosen]
        for kind in KINDS
    }
    if isinstance(alpha, Mapping):
        _check_names(alpha, by_kind)
    if alpha is not None:
        by_kind = {kind: _reweighted(weighted, alpha) for kind, weighted in by_kind.items()}
    check_plan(by_kind)
    return by_kind


def _resolve(
    choice: str | Relation | Weighted, defaults: Sequence[Weighted], others: Sequence[str]
) -> Weighted:
    if isinstance(choice, Weighted):
        return choice
    if isinstance(choice, str):
        preset = next((default for default in defaults if default.relation.name == choice), None)
        return preset or Weighted(relation(choice, others), ALPHA)
    if not isinstance(choice, Relation):
        lacks = [part for part in ("name", "bind") if not hasattr(choice, part)]
        why = f", which has no {' and no '.join(lacks)}" if lacks else ""
        raise InputError(
            f"relation {choice!r}{why}; give a name, a Weighted, or a Relation, which has a `name` "
            "and `bind(items)`"
        )
    return Weighted(choice, ALPHA)


def _check_names(alpha: Mapping[str, float], by_kind: Plan) -> None:
    """Raises UnknownName for the weight of a relation that no kind of content has."""
    weighted = [weighted for of_kind in by_kind.values() for weighted in of_kind]
    names = dict.fromkeys(choice.relation.name for choice in weighted)
    unknown = sorted(set(alpha).difference(names))
    if unknown and names:
        raise UnknownName(
            f"alpha for {', '.join(unknown)} weighs none of the relations here, which are "
            f"{', '.join(names)}"
        )


def _reweighted(
    relations: Sequence[Weighted], alpha: float | Mapping[str, float]
) -> list[Weighted]:
    if not isinstance(alpha, Mapping):
        return [Weighted(weighted.relation, float(alpha)) for weighted in relations]
    return [
        Weighted(weighted.relation, float(alpha[weighted.relation.name]))
        if weighted.relation.name in alpha
        else weighted
        for weighted in relations
    ]
