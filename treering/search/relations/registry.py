"""Relations and signals by name: the defaults, those of a call, and those stored with a space."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf
from types import MappingProxyType
from typing import Any, Final

from treering.errors import InputError, UnknownName
from treering.plugins import plugins
from treering.records import KINDS, Kind
from treering.search.relations.contract import (
    LEARNED,
    Plan,
    Relation,
    RelationFactory,
    Term,
    Weighted,
)
from treering.search.relations.decay import ContextRelation, Time
from treering.search.relations.group import (
    Agents,
    Citation,
    Same,
    Session,
    Speaker,
    WholeMessage,
)
from treering.search.relations.semantic import Semantic
from treering.search.signals.question import NamedSpeaker, ReplyTo, Role, When, Wish
from treering.search.signals.texts import Mention, NamedSource, Parts

GROUP: Final = "treering.relations"
ALPHA: Final = 0.5  # FragRel's default weight, for a relation named without one

OWN_TERMS: Final = frozenset({"lexical", "dense"})
"""Keys of ``Hit.why`` that no relation may take."""

BUILT_IN: Final[Mapping[str, Callable[..., Term]]] = {
    "context": ContextRelation,
    "time": Time,
    "semantic": Semantic,
    "session": Session,
    "speaker": Speaker,
    "agents": Agents,
    "same": Same,
    "cites": Citation,
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

DEFAULTS: Final[Mapping[Kind, tuple[Weighted, ...]]] = {
    "text": (
        Weighted(ContextRelation(w=0.3), alpha=0.25),
        Weighted(NamedSpeaker(), alpha=2.0),
        Weighted(Mention(), alpha=0.7),
        Weighted(When(), alpha=4.0),
        Weighted(Parts(), alpha=0.4),
        Weighted(NamedSource(), alpha=4.0),
    ),
    "chat": (
        Weighted(
            ContextRelation(w=0.6, within="session"), alpha=1.0, among_people=LEARNED["context"]
        ),
        Weighted(WholeMessage(), alpha=1.0, among_people=LEARNED["context"]),
        Weighted(Session(), alpha=0.7, among_people=0.0),
        Weighted(NamedSpeaker(), alpha=2.0, among_people=LEARNED["named"]),
        Weighted(ReplyTo(), alpha=0.0, among_people=LEARNED["reply"]),
        Weighted(When(), alpha=4.0, among_people=LEARNED["when"]),
        Weighted(Role(), alpha=2.5, among_people=0.0),
        Weighted(Wish(), alpha=1.3, among_people=0.0),
    ),
    "code": (Weighted(ContextRelation(w=0.5), alpha=0.5),),
}
"""The terms of each kind of content, chosen by measurement.

People: see ``LEARNED``. A whole message counts as its context does there, which was not measured:
no message of these sets is cut.

Chat with an assistant: weights between those that ``treering-bench learn --chats assistant`` finds
on BEAM and RealMem (context 0, message 0.2, session 0.43, role 1.6, wish 0.85) and those that
MT-Bench+ needs: recall@10 of BEAM and MT-Bench+ is 66.5 and 99.4, with those learned 65.5 and 97.2.
Wish finds something on BEAM only, 4 points. See ``beside_messages`` for messages that are cut.

Text: the paper's w and half its α; on MultiHop-RAG more (w 0.5, α 1) costs 2.5. Recall@10 rises by
mention on 2WikiMultihopQA from 70 to 94; by when from 89 to 93 on the questions of MultiHop-RAG
that name a time; by parts on MultiHop-RAG by 0.6; by source there from 91.0 to 92.3, and from 94.1
to 95.3 on 2WikiMultihopQA.

Code: the paper's α. Time and both semantic readings gained nothing on any set; they are there to
be chosen, and for ``fit``."""

Named = str | Relation | Weighted
Chosen = Sequence[Named]
Others = Mapping[str, Callable[[], Relation]]


def choose_plan(
    defaults: Plan,
    chosen: Chosen | None,
    alpha: float | Mapping[str, float] | None,
    others: Others = MappingProxyType({}),
) -> Plan:
    """Return the defaults or the relations chosen, with the weights given.

    A relation chosen by name has the parameters and weight that the defaults give it for a kind of
    content, if they name it, or those after its name: ``same(key=ticket) @ 0.5``. ``alpha`` sets
    the weight of all relations, or of each by name; ``others`` gives the relations of views, by
    name. Raises UnknownName and InputError.
    """
    if isinstance(chosen, str):
        raise InputError(
            f"relations is the text {chosen!r}; give a list such as [{chosen!r}]", param="relations"
        )
    if chosen is None and alpha is None:
        return defaults
    plan: dict[Kind, Sequence[Weighted]] = {
        kind: [_resolve(choice, defaults.get(kind, ()), others) for choice in chosen]
        if chosen is not None
        else defaults.get(kind, ())
        for kind in KINDS
    }
    if isinstance(alpha, Mapping):
        _check_names(alpha, plan)
    if alpha is not None:
        plan = {kind: [_reweight(w, alpha) for w in plan[kind]] for kind in KINDS}
    _check_plan(plan)
    return plan


def _resolve(choice: Named, defaults: Sequence[Weighted], others: Others) -> Weighted:
    if isinstance(choice, Weighted):
        return choice
    if isinstance(choice, str):
        preset = next((default for default in defaults if default.relation.name == choice), None)
        return preset or _parse_weighted(choice, others)
    if not isinstance(choice, Relation):
        lacks = [part for part in ("name", "bind") if not hasattr(choice, part)]
        why = f", which has no {' and no '.join(lacks)}" if lacks else ""
        raise InputError(
            f"relation {choice!r}{why}; give a name, a Weighted, or a Relation, which has a `name` "
            "and `bind(items)`"
        )
    return Weighted(choice, ALPHA)


def _term_factory(name: str, others: Others | None) -> Callable[..., Term]:
    """Return what makes the relation or signal of a name; without ``others`` a built-in one."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if others is None:
        raise UnknownName(
            f"no relation {name!r} can be configured; there are {', '.join(sorted(BUILT_IN))}; a "
            "search also takes those of views and packages",
            param="relations",
        )
    if name in others:
        return others[name]
    points = plugins(GROUP)
    if name in points.names:
        return partial(_call_once, points[name].load())
    known = ", ".join(sorted({*BUILT_IN, *others, *points.names}))
    raise UnknownName(f"no relation {name!r}; there are {known}", param="relations")


@lru_cache(maxsize=64)  # operators are kept for fewer
def _call_once(factory: RelationFactory, **parameters: float | str) -> Relation:
    # An operator is kept for a relation and its equals, and a package may not define equality.
    return factory(**parameters)


def _reweight(weighted: Weighted, alpha: float | Mapping[str, float]) -> Weighted:
    if isinstance(alpha, Mapping):
        if weighted.relation.name not in alpha:
            return weighted
        alpha = alpha[weighted.relation.name]
    return Weighted(weighted.relation, float(alpha))


def _check_names(alpha: Mapping[str, float], plan: Plan) -> None:
    """Raise UnknownName for the weight of a relation that no kind of content has."""
    names = {w.relation.name: None for weighted in plan.values() for w in weighted}
    unknown = sorted(set(alpha).difference(names))
    if unknown and names:
        raise UnknownName(
            f"alpha for {', '.join(unknown)} weighs none of the relations here, which are "
            f"{', '.join(names)}"
        )


def _check_plan(plan: Plan) -> None:
    """Raise InputError for an invalid weight, and for names that ``why`` would confuse."""
    for kind, choices in plan.items():
        names = [choice.relation.name for choice in choices]
        if taken := sorted(OWN_TERMS.intersection(names)):
            raise InputError(
                f"{taken[0]!r} is a term of the base score; give the relation another name"
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


# ---------------------------------------------------------------------- settings of a space

CONFIGURED: Final = "relations"
"""The relations that ``configure`` set, by kind of content."""

FITTED: Final = "fitted"
"""The relations that ``fit`` found, which are used instead."""


@dataclass(frozen=True, slots=True)
class FitReport:
    """The result of ``fit`` for one kind of content.

    ``default`` and ``fitted`` are mean reciprocal ranks on held-out pseudo-queries, ``chosen`` the
    relations that did best on the others. ``kept`` says whether they are used instead of those
    that the space had, which they are only if they gain.
    """

    kind: Kind
    queries: int
    default: float
    fitted: float
    chosen: tuple[Weighted, ...]
    kept: bool

    @property
    def gain(self) -> float:
        """How much the mean reciprocal rank of held-out pseudo-queries rose."""
        return self.fitted - self.default


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A relation that a language model proposed, written as for ``configure``, and its reason.

    ``report`` has the trial on pseudo-queries; it is None if the proposal was refused without one,
    for the reason ``refused``.
    """

    relation: str
    why: str
    report: FitReport | None = None
    refused: str | None = None

    @property
    def kept(self) -> bool:
        """Whether the space uses the relation from now on."""
        return self.report is not None and self.report.kept


def load_plan(settings: Mapping[str, Any]) -> Plan:
    """Return the relations of a space's settings, by default ``DEFAULTS``. Raises InputError."""
    stored: Mapping[str, Any] = {}
    try:
        stored = {**settings.get(CONFIGURED, {}), **settings.get(FITTED, {})}
        if not stored:
            return DEFAULTS
        plan = {
            kind: [_parse_weighted(text) for text in stored[kind]]
            if kind in stored
            else DEFAULTS[kind]
            for kind in KINDS
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"the settings {stored!r} name no relations: {error}") from error
    _check_plan(plan)
    return plan


def with_fitted(settings: Mapping[str, Any], reports: Sequence[FitReport]) -> dict[str, Any]:
    """Return the settings of a space after ``fit``.

    A kind gets the relations chosen for it if these gain; else it keeps those that it has.
    """
    fitted = {report.kind: [*map(str, report.chosen)] for report in reports if report.kept}
    return {**settings, FITTED: {**settings.get(FITTED, {}), **fitted}}


def without_fitted(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a space as they were before ``fit``."""
    return {key: value for key, value in settings.items() if key != FITTED}


def with_relations(settings: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the settings of a space with the relations that ``text`` gives kinds of content.

    ``chat: context(w=0.8) @ 0.5, speaker @ 0.2; text: none`` names relations as ``configure``
    returns them; the default weight is FragRel's. What ``fit`` found for these kinds goes. Raises
    InputError, UnknownName.
    """
    given = {}
    for part in text.split(";"):
        kind, colon, named = map(str.strip, part.partition(":"))
        if not colon or kind not in KINDS:
            raise InputError(
                f"the relations {part!r} are of no kind of content; write "
                f"{' or '.join(f'{name}:' for name in KINDS)} and relations, or none"
            )
        every = [] if named == "none" else _COMMA.split(named)
        given[kind] = [str(_parse_weighted(one)) for one in every]
    fitted = {kind: w for kind, w in settings.get(FITTED, {}).items() if kind not in given}
    return {**settings, CONFIGURED: {**settings.get(CONFIGURED, {}), **given}, FITTED: fitted}


_COMMA: Final = re.compile(r",(?![^(]*\))")
_WEIGHTED: Final = re.compile(
    r"\s*([\w.-]+)\s*(?:\(([^)]*)\))?\s*(?:@\s*([0-9.e+-]+))?\s*(?:among people ([0-9.e+-]+))?\s*"
)


def _parse_weighted(text: str, others: Others | None = None) -> Weighted:
    match = _WEIGHTED.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a relation; write one such as 'context(w=0.8) @ 0.5'")
    name, parameters, alpha, people = match.groups()
    make = _term_factory(name, others)
    pairs = [part.partition("=") for part in (parameters or "").split(",") if part.strip()]
    if pairs and others and name in others:
        raise InputError(f"the relation {name!r} has no parameters; write '{name} @ {ALPHA}'")
    try:
        relation = make(**{key.strip(): _parse_value(v.strip()) for key, _, v in pairs})
        weight = ALPHA if alpha is None else float(alpha)
        return Weighted(relation, weight, None if people is None else float(people))
    except (TypeError, ValueError) as error:
        raise InputError(f"the relation {text!r} does not take that: {error}") from error


def _parse_value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
