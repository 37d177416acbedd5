"""Supersessions: a person says that one entry holds instead of an older one.

They belong to the journal and not to a view, because no rebuild could find them in the texts. A
supersession goes with either entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from treering.errors import InputError
from treering.hints import Hint
from treering.journal.contract import Reader, Writer

_IS_LATER: Final = (
    "WITH RECURSIVE later (seq) AS (SELECT CAST(? AS BIGINT)"
    " UNION SELECT p.newer FROM supersession p JOIN later l ON p.older = l.seq WHERE p.space = ?)"
    " SELECT 1 FROM later WHERE seq = ?"
)
"""Whether what supersedes an entry, step by step, is another in the end. Mostly nothing does."""


def put(writer: Writer, space: int, older: int, newer: int) -> None:
    """Note that an entry holds instead of another. Raises InputError if that goes in a circle."""
    if older == newer:
        raise InputError("an entry cannot supersede itself; give the ids of two entries")
    if writer.row(_IS_LATER, (newer, space, older)) is not None:
        raise InputError(
            "the newer entry is superseded by the older one already", hint=Hint.UNDO_SUPERSEDE
        )
    take_back(writer, older)
    writer.execute(
        "INSERT INTO supersession (space, older, newer) VALUES (?, ?, ?)", (space, older, newer)
    )


def take_back(writer: Writer, older: int) -> bool:
    """Let an entry hold again; whether anything was noted of it."""
    return bool(
        writer.execute(
            "DELETE FROM supersession WHERE space = ? AND older = ?", (writer.space, older)
        )
    )


def erase(writer: Writer, seqs: Sequence[int]) -> None:
    """Forget what was noted of entries that are erased."""
    space = writer.space
    writer.many(
        "DELETE FROM supersession WHERE space = ? AND (older = ? OR newer = ?)",
        ((space, seq, seq) for seq in seqs),
    )


def pairs(
    reader: Reader, space: int, as_of: int | None = None, older: Sequence[int] | None = None
) -> list[tuple[int, int]]:
    """Each superseded entry with the one that holds instead, in the order of the newer ones.

    With ``as_of``, in microseconds since the epoch, those whose newer entry was known then; with
    ``older``, those of these entries, without a look at the others.
    """
    among = "" if older is None else " AND p.older IN (SELECT value FROM json_each(?))"
    rows = reader.rows(
        "SELECT p.older, p.newer FROM supersession p"
        " JOIN entry e ON e.space = p.space AND e.seq = p.newer"
        f" WHERE p.space = ? AND (CAST(? AS BIGINT) IS NULL OR coalesce(e.at, e.added) <= ?){among}"
        " ORDER BY coalesce(e.at, e.added), e.seq, p.older",
        (space, as_of, as_of, *([] if older is None else [json.dumps(list(older))])),
    )
    return [(int(row[0]), int(row[1])) for row in rows]


def ids(reader: Reader, space: int) -> Iterator[tuple[str, str]]:
    """The same by the ids of the entries, for an export."""
    rows = reader.rows(
        "SELECT o.id, n.id FROM supersession p"
        " JOIN entry o ON o.space = p.space AND o.seq = p.older"
        " JOIN entry n ON n.space = p.space AND n.seq = p.newer WHERE p.space = ? ORDER BY p.older",
        (space,),
    )
    return ((str(row[0]), str(row[1])) for row in rows)
