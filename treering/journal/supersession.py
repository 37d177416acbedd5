"""What a person says of two entries: the newer one holds instead of the older one.

It is no view's: nothing in the texts tells it, so no rebuild could find it again. It goes with
either entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from treering.errors import InputError
from treering.journal.contract import Reader, Writer


def put(writer: Writer, space: int, older: int, newer: int) -> None:
    """Note that an entry holds instead of another. Raises InputError if that goes in a circle."""
    if older in _chain(writer, newer):
        raise InputError(
            "the newer entry is superseded by the older one already; take that back first, with "
            "supersede(old, None)"
        )
    writer.execute(
        "INSERT INTO supersession (space, older, newer) VALUES (?, ?, ?)"
        " ON CONFLICT (older) DO UPDATE SET newer = excluded.newer",
        (space, older, newer),
    )


def take_back(writer: Writer, older: int) -> bool:
    """Let an entry hold again; whether anything was noted of it."""
    return bool(writer.execute("DELETE FROM supersession WHERE older = ?", (older,)))


def erase(writer: Writer, seqs: Sequence[int]) -> None:
    """Forget what was noted of entries that are erased."""
    for column in ("older", "newer"):
        writer.many(f"DELETE FROM supersession WHERE {column} = ?", ((seq,) for seq in seqs))


def pairs(
    reader: Reader, space: int, as_of: int | None = None, older: Sequence[int] | None = None
) -> list[tuple[int, int]]:
    """Each superseded entry with the one that holds instead, in the order of the newer ones.

    With ``as_of``, in microseconds since the epoch, those whose newer entry was known then; with
    ``older``, those of these entries, without a look at the others.
    """
    among = "" if older is None else " AND p.older IN (SELECT value FROM json_each(?))"
    rows = reader.rows(
        "SELECT p.older, p.newer FROM supersession p JOIN entry e ON e.seq = p.newer"
        f" WHERE p.space = ? AND (CAST(? AS BIGINT) IS NULL OR coalesce(e.at, e.added) <= ?){among}"
        " ORDER BY coalesce(e.at, e.added), e.seq, p.older",
        (space, as_of, as_of, *([] if older is None else [json.dumps(list(older))])),
    )
    return [(int(row[0]), int(row[1])) for row in rows]


def ids(reader: Reader, space: int) -> Iterator[tuple[str, str]]:
    """The same by the ids of the entries, for an export."""
    rows = reader.rows(
        "SELECT o.id, n.id FROM supersession p JOIN entry o ON o.seq = p.older"
        " JOIN entry n ON n.seq = p.newer WHERE p.space = ? ORDER BY p.older",
        (space,),
    )
    return ((str(row[0]), str(row[1])) for row in rows)


def _chain(reader: Reader, seq: int) -> Iterator[int]:
    """An entry, what supersedes it, and so on."""
    row: Sequence[int] | None = (seq,)
    while row is not None:
        yield int(row[0])
        row = reader.row("SELECT newer FROM supersession WHERE older = ?", (int(row[0]),))
