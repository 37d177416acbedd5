"""The ledger of a space: counts, settings, and what its models have cost."""

from __future__ import annotations

import json
from typing import Any

from treering.journal import damage, entries
from treering.journal.contract import Reader, Writer
from treering.journal.space import SpaceReader, SpaceWriter
from treering.records import Spent


def counts(reader: SpaceReader) -> dict[str, int]:
    """How many entries and sources a space has."""
    return {table: entries.count(reader, table, reader.id) for table in ("entry", "source")}


def settings(reader: Reader, space: int) -> dict[str, Any]:
    """The settings of a space: the relations that ``fit`` chose, and how its tree grows."""
    row = reader.row("SELECT settings FROM space WHERE id = ?", (space,))
    with damage.decoding("what `treering fit` found"):
        stored: dict[str, Any] = damage.checked(dict, json.loads(row[0])) if row else {}
    return stored


def save_settings(writer: Writer, space: int, settings: dict[str, Any]) -> None:
    """Keep the settings of a space."""
    writer.execute("UPDATE space SET settings = ? WHERE id = ?", (json.dumps(settings), space))


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
    """What models have cost, by operation."""
    rows = reader.rows(
        "SELECT operation, model, calls, prompt_tokens, completion_tokens FROM spent"
        " WHERE space = ? ORDER BY operation, model",
        (space,),
    )
    return tuple(Spent(*row) for row in rows)
