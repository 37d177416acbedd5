"""How a space's tree grows, as JSON among the settings of the space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from treering.errors import InputError
from treering.journal import ledger
from treering.journal.contract import Reader
from treering.views.tree.settings import MOST_HOURS, Settings
from treering.views.tree.threshold import LIMITS, Threshold

KEY: Final = "tree"


def updated(settings: Mapping[str, Any], chosen: Settings) -> dict[str, Any]:
    """The settings of a space whose tree is to grow so."""
    return {**settings, KEY: asdict(chosen)}


def of_space(reader: Reader, space: int) -> Settings:
    """How the tree of a space grows."""
    return load(ledger.settings(reader, space))


def load(settings: Mapping[str, Any]) -> Settings:
    """What a space's settings say of its tree; the defaults where they say nothing.

    Numbers beyond the limits, which earlier versions took, are the limits. Raises InputError for
    settings that ``updated`` did not make.
    """
    stored = settings.get(KEY)
    if stored is None:
        return Settings()
    try:
        others = {name: value for name, value in stored.items() if name != "threshold"}
        others["gap_hours"] = min(others.get("gap_hours", 0.0), MOST_HOURS)
        threshold = {**stored["threshold"]}
        for name, (least, most) in LIMITS.items():
            if name in threshold:
                threshold[name] = min(max(threshold[name], least), most)
        return Settings(Threshold(**threshold), **others)
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"the settings {stored!r} are none of a tree: {error}") from error
