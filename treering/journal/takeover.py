"""Taking over a file of the old layout: its rows are moved in steps, each a transaction of its own.

Until version 14 texts and vectors stood in rows that SQLite moves about, which leaves copies
behind. Opening such a file moves what users wrote into tables whose rows stay where they are. A
process that is interrupted leaves the rest to the next one that opens the file; nothing is embedded
again. At the end the old rows are dropped, and the file is to be rewritten once.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from treering.journal import labels, storage
from treering.journal.contract import Database, Reader, Writer

log = logging.getLogger("treering")

BATCH_ROWS: Final = 5_000
"""Rows that are moved in one transaction: half a second of work."""

NEWS_S: Final = 5.0
"""Time between two messages of how far it has come."""

_KEYS: Final = {"old_source": "id", "old_entry": "seq", "old_fragment": "id", "old_vector": "id"}
"""The old tables, parents first, each with its key; a new table's name lacks the ``old_``."""

_MOVES: Final = {
    "old_entry": (
        "INSERT INTO body (id, text, speaker, role, session, metadata)"
        " SELECT seq, text, speaker, role, session, metadata FROM old_entry",
        "INSERT INTO entry (seq, space, id, source, position, digest, kind, at, added, body)"
        " SELECT seq, space, id, source, position, digest, kind, at, added, seq FROM old_entry",
    ),
    "old_fragment": (
        "INSERT INTO term_list (id, data) SELECT id, terms FROM old_fragment",
        "INSERT INTO fragment (id, space, entry, start, stop, terms)"
        " SELECT id, space, entry, start, stop, id FROM old_fragment",
    ),
    "old_vector": (
        "INSERT INTO vector_data (id, data) SELECT id, data FROM old_vector",
        "INSERT INTO vector (id, model, space, fragment)"
        " SELECT id, model, space, fragment FROM old_vector",
    ),
}


def is_due(reader: Reader) -> bool:
    """Whether rows of the old layout are left."""
    return _has_old(reader)


def run(database: Database, name: str) -> None:
    """Move all that is left; ``name`` is the file's, for messages of how far it has come.

    Raises JournalFull, JournalBusy, JournalCorrupt; what was moved before stays moved.
    """
    last_news = time.monotonic()
    for table, key in _KEYS.items():
        while True:
            with database.write() as writer:
                if not _has_old(writer):  # another process has ended it
                    return
                if not _move(writer, table, key):
                    break
                percent = _percent(writer, table, key)
            if time.monotonic() - last_news > NEWS_S:
                last_news = time.monotonic()
                log.warning(
                    "%s is taken over: %s, %d %%", name, table.removeprefix("old_"), percent
                )
    with database.write() as writer:
        if _has_old(writer):
            has_rows = writer.row("SELECT 1 FROM old_source LIMIT 1") is not None
            for table in reversed(_KEYS):
                writer.execute(f"DROP TABLE {table}")
            if has_rows:
                storage.set_rewrite_due(writer)


def _has_old(reader: Reader) -> bool:
    return reader.row("SELECT 1 FROM sqlite_schema WHERE name = 'old_entry'") is not None


def _move(writer: Writer, table: str, key: str) -> bool:
    """Move the next rows of a table. False if none are left."""
    first = _end(writer, table.removeprefix("old_"), key)
    bounds = writer.row(
        f"SELECT max({key}) FROM (SELECT {key} FROM {table} WHERE {key} > ?"
        f" ORDER BY {key} LIMIT {BATCH_ROWS})",
        (first,),
    )
    if bounds is None or bounds[0] is None:
        return False
    if table == "old_source":
        _move_sources(writer, first, int(bounds[0]))
    else:
        for statement in _MOVES[table]:
            writer.execute(f"{statement} WHERE {key} > ? AND {key} <= ?", (first, bounds[0]))
    return True


def _move_sources(writer: Writer, first: int, last: int) -> None:
    rows = list(
        writer.rows(
            "SELECT id, space, name, digest, path FROM old_source WHERE id > ? AND id <= ?"
            " ORDER BY id",
            (first, last),
        )
    )
    for identity, space, name, digest, path in rows:
        writer.execute(
            "INSERT INTO source (id, space, hash, family, name, digest, path, path_hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(identity, space, labels.hash_of(name), labels.family_of(name)),
                *(labels.put(writer, name), digest, labels.put(writer, path)),
                None if path is None else labels.hash_of(path),
            ),
        )


def _percent(reader: Reader, table: str, key: str) -> int:
    end = _end(reader, table, key)
    return 100 * _end(reader, table.removeprefix("old_"), key) // end if end else 100


def _end(reader: Reader, table: str, key: str) -> int:
    row = reader.row(f"SELECT coalesce(max({key}), 0) FROM {table}")
    return int(row[0]) if row else 0
