"""Which entries a model was shown when it gave a reply that is kept."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

from treering.journal import entries
from treering.journal.contract import Reader, Writer


def note(writer: Writer, space: int, replies: Collection[str], shown: Collection[str]) -> None:
    """Note, by ids, that the model that gave these replies was shown these entries."""
    shown_seqs = entries.seqs_of(writer, space, shown)
    pairs = ((space, seq, reply) for reply in entries.seqs_of(writer, space, replies)
             for seq in shown_seqs if seq != reply)  # fmt: skip
    writer.many(
        "INSERT INTO reply_shown (space, shown, reply) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        pairs,
    )


def replies_to(reader: Reader, shown: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The replies whose model was shown entries, also ones that are gone: (entry, reply)."""
    rows = reader.rows(
        "SELECT shown, reply FROM reply_shown"
        " WHERE space = ? AND shown IN (SELECT value FROM json_each(?))",
        (reader.space, json.dumps(list(shown))),
    )
    return ((int(row[0]), int(row[1])) for row in rows)


def drop(writer: Writer, shown: Sequence[int]) -> None:
    """Drop the notes on entries that are gone."""
    space = writer.space
    writer.many(
        "DELETE FROM reply_shown WHERE space = ? AND shown = ?", ((space, seq) for seq in shown)
    )


def texts(reader: Reader, seqs: Collection[int]) -> dict[int, str]:
    """The texts of entries as far as they can be read: a damaged one may be erased, too."""
    rows = reader.rows(
        "SELECT e.seq, CAST(b.text AS BLOB) FROM entry e JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND e.seq IN (SELECT value FROM json_each(?))",
        (reader.space, json.dumps(list(seqs))),
    )
    return {int(row[0]): bytes(row[1]).decode(errors="ignore") for row in rows}
