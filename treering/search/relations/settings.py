"""Weighted relations as JSON: how a space remembers what ``fit`` found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from treering.errors import InputError
from treering.records import KINDS, Kind
from treering.search.relations.defaults import DEFAULTS
from treering.search.relations.plan import Plan, Weighted, check_plan
from treering.search.relations.registry import BUILT_IN

KEY = "relations"


@dataclass(frozen=True, slots=True)
class FitReport:
    """What ``fit`` found for one kind of content.

    ``default`` and ``fitted`` are mean reciprocal ranks on held-out pseudo-queries, ``chosen`` the
    relations that did best on the others. ``kept`` tells whether they replace the defaults, which
    they do only where they gain.
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

    A kind with a report gets the relations chosen for it, or the defaults if these did not gain.
    Kinds without a report stay as they are.
    """
    reported = {report.kind for report in reports}
    before = {
        kind: relations for kind, relations in settings.get(KEY, {}).items() if kind not in reported
    }
    accepted = {report.kind: as_json(report.chosen) for report in reports if report.kept}
    return {**settings, KEY: before | accepted}


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

    Raises InputError for settings that ``updated`` did not make.
    """
    fitted = settings.get(KEY, {})
    try:
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
