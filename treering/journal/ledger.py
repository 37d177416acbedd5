"""The ledger of a space: counts, settings, and the costs of models."""

from __future__ import annotations

import json
from typing import Any, Final

from treering.journal import damage, entries
from treering.journal.contract import Reader
from treering.journal.space import SpaceReader, SpaceState, SpaceWriter
from treering.records import Spent


def counts(reader: SpaceReader) -> dict[str, int]:
    """How many entries and sources a space has."""
    return {table: entries.count(reader, table, reader.id) for table in ("entry", "source")}


CHOICES: Final = "choices"
"""Among the settings those that have one value each."""


def settings(reader: SpaceReader) -> dict[str, Any]:
    """The settings of a space: the relations that ``fit`` chose, and how its tree grows."""
    return _settings(reader.state)


def _settings(state: SpaceState) -> dict[str, Any]:
    with damage.decoding("what `treering fit` found"):
        stored: dict[str, Any] = damage.checked(dict, json.loads(state.settings))
    return stored


def choice(state: SpaceState, name: str, default: str) -> str:
    """Return one of the settings that have one value each."""
    choices = _settings(state).get(CHOICES)
    value = choices.get(name) if isinstance(choices, dict) else None
    return value if isinstance(value, str) else default


def save_settings(writer: SpaceWriter, settings: dict[str, Any]) -> None:
    """Keep the settings of a space."""
    writer.set_settings(json.dumps(settings))


def spend(writer: SpaceWriter, cost: Spent) -> None:
    """Add a cost to the ledger, unless the space is gone, removed while its model was at work."""
    if not writer.is_there:
        return
    writer.execute(
        "INSERT INTO spent (space, operation, model, calls, prompt_tokens, completion_tokens)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (space, operation, model) DO UPDATE SET"
        " calls = spent.calls + excluded.calls,"
        " prompt_tokens = spent.prompt_tokens + excluded.prompt_tokens,"
        " completion_tokens = spent.completion_tokens + excluded.completion_tokens",
        (
            writer.id,
            cost.operation,
            cost.model,
            cost.calls,
            cost.prompt_tokens,
            cost.completion_tokens,
        ),
    )


def spent(reader: Reader, space: int) -> tuple[Spent, ...]:
    """Return the costs of models, by operation."""
    rows = reader.rows(
        "SELECT operation, model, calls, prompt_tokens, completion_tokens FROM spent"
        " WHERE space = ? ORDER BY operation, model",
        (space,),
    )
    return tuple(Spent(*row) for row in rows)
