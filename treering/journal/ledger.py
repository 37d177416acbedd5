"""What a space has: counts, settings, and what its models have cost."""

from __future__ import annotations

import json
from typing import Any

from treering.fragments import store
from treering.journal import damage, entries, work
from treering.journal.contract import Reader, Writer
from treering.records import Spent, Stats


def stats(reader: Reader, space: str, size: int) -> Stats:
    """The state of a space; zeros if nothing was added to it."""
    state = store.state(reader, space)
    if state is None:
        return Stats(space, 0, 0, 0, 0, {}, None, None, size, ())
    model = state.model
    return Stats(
        space=space,
        entries=entries.count(reader, "entry", state.space),
        sources=entries.count(reader, "source", state.space),
        fragments=store.count(reader, state.space),
        embedded=store.count_vectors(reader, state.space, model) if model else 0,
        pending=work.counts(reader, state.space),
        model=model.name if model else None,
        dimension=model.dimension if model else None,
        bytes=size,
        spent=spent(reader, state.space),
    )


def settings(reader: Reader, space: int) -> dict[str, Any]:
    """What ``fit`` found for a space."""
    row = reader.row("SELECT settings FROM space WHERE id = ?", (space,))
    with damage.decoding("what `treering fit` found"):
        found: dict[str, Any] = damage.checked(dict, json.loads(row[0])) if row else {}
    return found


def save_settings(writer: Writer, space: int, found: dict[str, Any]) -> None:
    """Keep what ``fit`` found."""
    writer.execute("UPDATE space SET settings = ? WHERE id = ?", (json.dumps(found), space))


def spend(writer: Writer, space: int, cost: Spent) -> None:
    """Add a cost to the ledger."""
    writer.execute(
        "INSERT INTO spent (space, operation, model, calls, prompt_tokens, completion_tokens)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (space, operation, model) DO UPDATE SET"
        " calls = calls + excluded.calls,"
        " prompt_tokens = prompt_tokens + excluded.prompt_tokens,"
        " completion_tokens = completion_tokens + excluded.completion_tokens",
        (
            space,
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
