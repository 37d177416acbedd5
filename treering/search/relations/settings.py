"""Weighted relations as JSON: those that a space was configured with, and those of ``fit``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from treering.errors import InputError, UnknownName
from treering.records import KINDS, Kind
from treering.search.relations.defaults import DEFAULTS
from treering.search.relations.plan import Plan, Term, Weighted, check_plan
from treering.search.relations.registry import ALPHA, BUILT_IN

KEY = "relations"
"""The relations that ``configure`` set, by kind of content."""

FITTED = "fitted"
"""Those that ``fit`` found, which are used instead."""


@dataclass(frozen=True, slots=True)
class FitReport:
    """What ``fit`` found for one kind of content.

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


def updated(settings: Mapping[str, Any], reports: Sequence[FitReport]) -> dict[str, Any]:
    """The settings of a space after ``fit``.

    A kind with a report gets the relations chosen for it if these gain, or else those of
    ``configure``, which always stay. Kinds without a report stay as they are.
    """
    reported = {report.kind for report in reports}
    fitted = {
        kind: found for kind, found in settings.get(FITTED, {}).items() if kind not in reported
    }
    fitted |= {report.kind: as_json(report.chosen) for report in reports if report.kept}
    return {**settings, FITTED: fitted}


_KIND: Final = re.compile(r"\s*(?P<kind>[a-z]+)\s*:(?P<relations>[^;]*)")
_RELATION: Final = re.compile(
    r"\s*(?P<name>[a-z-]+)\s*(?:\((?P<parameters>[^)]*)\))?\s*(?:@\s*(?P<alpha>[0-9.]+))?\s*(?:,|$)"
)


def chosen(settings: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The settings of a space with the relations that ``text`` gives kinds of content.

    ``chat: context(w=0.8) @ 0.5, speaker @ 0.2; text: none`` names relations as ``configure``
    returns them; a weight that is left out is FragRel's. What ``fit`` found for these kinds goes.
    Raises InputError, UnknownName.
    """
    given = {}
    for part in text.split(";"):
        match = _KIND.fullmatch(part)
        kind = match["kind"] if match else ""
        if match is None or kind not in KINDS:
            raise InputError(
                f"the relations {part!r} are of no kind of content; write "
                f"{' or '.join(f'{name}:' for name in KINDS)} and relations, or none"
            )
        named = match["relations"].strip()
        given[kind] = [] if named == "none" else as_json(_read_all(named))
    fitted = {kind: found for kind, found in settings.get(FITTED, {}).items() if kind not in given}
    return {**settings, KEY: {**settings.get(KEY, {}), **given}, FITTED: fitted}


def _read_all(text: str) -> Iterator[Weighted]:
    """The weighted relations that a text names one after the other."""
    at = 0
    while at < len(text) or not text:
        match = _RELATION.match(text, at)
        if match is None:
            raise InputError(
                f"{text[at:]!r} is not a relation; write one such as 'context(w=0.8) @ 0.5'"
            )
        at = match.end()
        yield Weighted(_built(match["name"], match["parameters"] or ""), _weight(match["alpha"]))


def _weight(text: str | None) -> float:
    try:
        return ALPHA if text is None else float(text)
    except ValueError:
        raise InputError(f"the weight {text!r} is not a number") from None


def _built(name: str, parameters: str) -> Term:
    if name not in BUILT_IN:
        raise UnknownName(f"no relation {name!r}; there are {', '.join(sorted(BUILT_IN))}")
    pairs = [part.partition("=") for part in parameters.split(",") if part.strip()]
    values = {key.strip(): _value(value.strip()) for key, _, value in pairs}
    try:
        return BUILT_IN[name](**values)
    except TypeError as error:
        raise InputError(f"the relation {name!r} does not take ({parameters}): {error}") from error


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def unfitted(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a space as they were before ``fit``."""
    return {key: value for key, value in settings.items() if key != FITTED}


def as_json(relations: Iterable[Weighted]) -> list[dict[str, Any]]:
    """Weighted relations as the settings of a space hold them."""
    return [
        {
            **asdict(weighted.relation),  # type: ignore[call-overload]
            "alpha": weighted.alpha,
            **({} if weighted.among_people is None else {"among_people": weighted.among_people}),
        }
        for weighted in relations
    ]


def load(settings: Mapping[str, Any]) -> Plan:
    """The relations of a space's settings; the defaults for a kind that the settings do not name.

    Raises InputError for settings that this version did not make.
    """
    fitted = {}
    try:
        fitted = {**settings.get(KEY, {}), **settings.get(FITTED, {})}
        plan = {
            kind: [_weighted(fields) for fields in fitted[kind]]
            if kind in fitted
            else DEFAULTS[kind]
            for kind in KINDS
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"the settings {fitted!r} name no relations: {error}") from error
    check_plan(plan)
    return plan


def _weighted(fields: Mapping[str, Any]) -> Weighted:
    weights = ("alpha", "among_people")
    parameters = {key: value for key, value in fields.items() if key not in weights}
    people = fields.get("among_people")
    return Weighted(
        BUILT_IN[fields["name"]](**parameters),
        float(fields["alpha"]),
        None if people is None else float(people),
    )
