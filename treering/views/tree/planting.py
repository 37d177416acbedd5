"""How a space's tree grows, as JSON among the settings of the space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from treering.errors import InputError
from treering.journal import ledger
from treering.journal.contract import Reader
from treering.views.tree.settings import Settings, Threshold

KEY: Final = "tree"


def updated(settings: Mapping[str, Any], chosen: Settings) -> dict[str, Any]:
    """The settings of a space whose tree is to grow so."""
    return {**settings, KEY: asdict(chosen)}


def of_space(reader: Reader, space: int) -> Settings:
    """How the tree of a space grows."""
    return load(ledger.settings(reader, space))


def load(settings: Mapping[str, Any]) -> Settings:
    """The settings of a space for its tree; the defaults if it has none. Raises InputError."""
    stored = settings.get(KEY)
    if stored is None:
        return Settings()
    try:
        others = {name: value for name, value in stored.items() if name != "threshold"}
        return Settings(Threshold(**stored["threshold"]), **others)
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"the settings {stored!r} are none of a tree: {error}") from error
