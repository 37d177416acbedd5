"""Weighted relations as JSON: those of a preset among the settings of a space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from treering.errors import InputError
from treering.records import KINDS
from treering.search.relations.combine import check_plan
from treering.search.relations.defaults import DEFAULTS, Weighted
from treering.search.relations.registry import BUILT_IN, Plan

KEY = "relations"


def as_json(relations: Iterable[Weighted]) -> list[dict[str, Any]]:
    """Weighted relations as the settings of a space hold them."""
    return [
        {**asdict(weighted.relation), "alpha": weighted.alpha}  # type: ignore[call-overload]
        for weighted in relations
    ]


def load(settings: Mapping[str, Any]) -> Plan:
    """The relations of a space's settings; the defaults for a kind that the settings do not name.

    Raises InputError for other settings than a preset's.
    """
    stored = settings.get(KEY, {})
    try:
        plan = {
            kind: [_weighted(fields) for fields in stored[kind]]
            if kind in stored
            else DEFAULTS[kind]
            for kind in KINDS
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"the settings {stored!r} name no relations: {error}") from error
    check_plan(plan)
    return plan


def _weighted(fields: Mapping[str, Any]) -> Weighted:
    parameters = {key: value for key, value in fields.items() if key != "alpha"}
    return Weighted(BUILT_IN[fields["name"]](**parameters), float(fields["alpha"]))
