"""Reading and changing the settings that are kept with a space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from treering.errors import InputError
from treering.journal import ledger
from treering.journal.space import Space, SpaceReader
from treering.records import KINDS
from treering.search.relations.registry import load_plan, with_relations
from treering.views.choices import CHOICES, SpaceSettings, check_setting


def choices_of(stored: Mapping[str, Any]) -> SpaceSettings:
    """Parse those of ``CHOICES`` among the settings stored with a space. Raises InputError."""
    choices = stored.get(ledger.CHOICES, {})
    if not isinstance(choices, dict) or not choices.keys() <= set(CHOICES):
        raise InputError(
            f"the settings {choices!r} are not this version's, which has {', '.join(CHOICES)}"
        )
    for name, value in choices.items():  # those of an import may be of any type
        check_setting(name, value)
    return _check_together(tuple(sorted(choices.items())))


@lru_cache(maxsize=64)
def _check_together(choices: tuple[tuple[str, Any], ...]) -> SpaceSettings:
    return SpaceSettings(**dict(choices))  # checked when they were stored; searches need a few


def read(stored: Mapping[str, Any]) -> SpaceSettings:
    """The settings stored with a space; ``preset`` is not looked for. Raises InputError."""
    plan = load_plan(stored)
    return replace(
        choices_of(stored), relations={kind: tuple(map(str, plan[kind])) for kind in KINDS}
    )


def with_choices(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a space with other values for some of ``CHOICES``. Raises InputError."""
    choices = {**stored.get(ledger.CHOICES, {}), **given}
    changed = {**stored, ledger.CHOICES: choices}
    if (relations := choices.pop("relations", None)) is not None:
        check_setting("relations", relations)
        changed = with_relations(changed, relations)
    read(changed)
    return changed


def settings_in(reader: SpaceReader) -> SpaceSettings:
    """The defaults of the calls in a space: see ``choices_of``."""
    return choices_of(ledger.settings(reader))


def settings_of(space: Space) -> SpaceSettings:
    """As ``settings_in``, in a transaction of its own."""
    with space.read() as reader:
        return settings_in(reader)
