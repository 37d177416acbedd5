"""Pending work of views, in the database until a transaction stores its result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from treering.journal.contract import Reader, Writer

MAX_ERROR_CHARS = 500  # enough to act on; an endpoint may answer with a page of HTML


def enqueue(writer: Writer, space: int, view: str, targets: Iterable[int]) -> None:
    """Add work; targets that are queued already stay as they are."""
    writer.many(
        "INSERT INTO work (space, view, target) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        ((space, view, target) for target in targets),
    )


def targets(
    reader: Reader, space: int, view: str, limit: int, after: int = -1, *, untried: bool = False
) -> list[int]:
    """Up to ``limit`` targets above ``after``, ascending; those ``untried`` have not failed yet."""
    condition = " AND attempts = 0" if untried else ""
    rows = reader.rows(
        f"SELECT target FROM work WHERE space = ? AND view = ? AND target > ?{condition}"
        " ORDER BY target LIMIT ?",
        (space, view, after, limit),
    )
    return [int(row[0]) for row in rows]


def claim(writer: Writer, space: int, view: str, targets: Iterable[int]) -> set[int]:
    """Take targets off the queue; returns those that were still on it. Others have done the rest.

    Call it in the transaction that stores the work's result: a crash before leaves the work queued,
    and of two workers only one stores.
    """
    listed = list(targets)
    # Mostly nothing is queued for a view.
    if (
        not listed
        or writer.row("SELECT 1 FROM work WHERE space = ? AND view = ? LIMIT 1", (space, view))
        is None
    ):
        return set()
    rows = writer.rows(
        "SELECT target FROM work WHERE space = ? AND view = ?"
        " AND target IN (SELECT value FROM json_each(?))",
        (space, view, json.dumps(listed)),
    )
    claimed = {int(row[0]) for row in rows}
    if not claimed:
        return claimed
    tables = ["work"]
    if writer.row("SELECT 1 FROM work_error WHERE space = ? LIMIT 1", (space,)) is not None:
        tables.append("work_error")
    for table in tables:
        writer.many(
            f"DELETE FROM {table} WHERE space = ? AND view = ? AND target = ?",
            ((space, view, target) for target in claimed),
        )
    return claimed


def note_failure(writer: Writer, space: int, view: str, targets: Iterable[int], error: str) -> None:
    """Store the error of targets, which stay queued."""
    for target in targets:
        if writer.execute(
            "UPDATE work SET attempts = attempts + 1 WHERE space = ? AND view = ? AND target = ?",
            (space, view, target),
        ):
            writer.execute(
                "INSERT INTO work_error (space, view, target, error) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (space, view, target) DO UPDATE SET error = excluded.error",
                (space, view, target, error[:MAX_ERROR_CHARS]),
            )


def forget_errors(writer: Writer, space: int) -> None:
    """Drop the notes on why work failed: they may quote the text that it was about."""
    writer.execute("DELETE FROM work_error WHERE space = ?", (space,))


def drop(writer: Writer, space: int, view: str) -> None:
    """Forget all work of a view."""
    for table in ("work", "work_error"):
        writer.execute(f"DELETE FROM {table} WHERE space = ? AND view = ?", (space, view))


def counts(
    reader: Reader, space: int, views: Sequence[str] | None = None, *, untried: bool = False
) -> dict[str, int]:
    """How much work is pending, by view; of these views alone, if they are given.

    ``untried``: what has failed is not counted.
    """
    condition = "" if views is None else f" AND view IN ({', '.join('?' * len(views))})"
    condition += " AND attempts = 0" if untried else ""
    rows = reader.rows(
        f"SELECT view, count(*) FROM work WHERE space = ?{condition} GROUP BY view ORDER BY view",
        (space, *(views or ())),
    )
    return {str(row[0]): int(row[1]) for row in rows}


def is_queued(reader: Reader, space: int, views: Sequence[str]) -> bool:
    """Whether any work of these views is pending."""
    row = reader.row(
        f"SELECT 1 FROM work WHERE space = ? AND view IN ({', '.join('?' * len(views))}) LIMIT 1",
        (space, *views),
    )
    return row is not None


def last_error(reader: Reader, space: int, view: str) -> str | None:
    """The most recent reason for which work of a view failed."""
    row = reader.row(
        "SELECT e.error FROM work_error e JOIN work w"
        " ON w.space = e.space AND w.view = e.view AND w.target = e.target"
        " WHERE e.space = ? AND e.view = ? ORDER BY w.attempts DESC LIMIT 1",
        (space, view),
    )
    return None if row is None else str(row[0])
