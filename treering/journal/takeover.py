"""Taking over a file of the old layout: its rows are moved in steps, each a transaction of its own.

Until version 14 texts and vectors stood in rows that SQLite moves about, which leaves copies
behind. Opening such a file moves what users wrote into tables whose rows stay where they are. A
process that is interrupted leaves the rest to the next one that opens the file; nothing is embedded
again. At the end the old rows are dropped, and the file is to be rewritten once.

Until version 19 each fragment, its terms and its vector had rows of their own. They are put into
blocks (``into_blocks``); the vectors themselves stay where they are.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from treering.journal import into_blocks, labels, storage
from treering.journal.contract import Database, Reader, Writer

log = logging.getLogger("treering")

BATCH_ROWS: Final = 5_000
"""Rows that are moved in one transaction: half a second of work."""

NEWS_S: Final = 5.0
"""Time between two messages of how far it has come."""

_KEYS: Final = {"old_source": "id", "old_entry": "seq", "old_fragment": "id", "old_vector": "id"}
"""The old tables, parents first, each with its key."""

_NEW: Final = {
    "old_source": "source",
    "old_entry": "entry",
    "old_fragment": "listed_fragment",
    "old_vector": "listed_vector",
    "listed_fragment": "fragment",
}
"""The tables that rows are moved to."""

_LISTED: Final = ("listed_vector", "listed_fragment", "term_list")
"""Tables of version 14 to 18, whose rows go into blocks."""

_MOVES: Final = {
    "old_entry": (
        "INSERT INTO body (id, text, speaker, role, session, metadata)"
        " SELECT seq, text, speaker, role, session, metadata FROM old_entry",
        "INSERT INTO entry (seq, space, id, source, position, digest, kind, at, added, body)"
        " SELECT seq, space, id, source, position, digest, kind, at, added, seq FROM old_entry",
    ),
    "old_fragment": (
        "INSERT INTO term_list (id, data) SELECT id, terms FROM old_fragment",
        "INSERT INTO listed_fragment (id, space, entry, start, stop, terms)"
        " SELECT id, space, entry, start, stop, id FROM old_fragment",
    ),
    "old_vector": (
        "INSERT INTO vector_data (id, data) SELECT id, data FROM old_vector",
        "INSERT INTO listed_vector (id, model, space, fragment)"
        " SELECT id, model, space, fragment FROM old_vector",
    ),
}


def is_due(reader: Reader) -> bool:
    """Whether rows of an old layout are left."""
    return _has(reader, "old_entry") or _has(reader, "listed_fragment")


def needs_rewriting(reader: Reader) -> bool:
    """Whether the file is to be rewritten when the rows are moved."""
    return _has(reader, "old_entry")


def run(database: Database, name: str) -> None:
    """Move all that is left; ``name`` is the file's, for messages of how far it has come.

    Raises JournalFull, JournalBusy, JournalCorrupt; what was moved before stays moved.
    """
    with database.write() as writer:
        if _drop_empty(writer):  # a new file: nothing is to be moved
            return
    news = _News(name)
    for table, key in (*_KEYS.items(), ("listed_fragment", "id")):
        while True:
            with database.write() as writer:
                if not _has(writer, table):  # another process has ended it, or it is not so old
                    break
                if not _move(writer, table, key):
                    _end_of(writer, table)
                    break
                percent = _percent(writer, table, key)
            news.tell(_NEW[table], percent)


class _News:
    """Messages of how far a takeover has come, now and then."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last = time.monotonic()

    def tell(self, table: str, percent: int) -> None:
        if time.monotonic() - self._last > NEWS_S:
            self._last = time.monotonic()
            log.warning(
                "%s is taken over: %s, %d %%", self._name, table.removeprefix("listed_"), percent
            )


def _drop_empty(writer: Writer) -> bool:
    """Drop the tables of old layouts if they hold nothing."""
    tables = [table for table in (*reversed(_KEYS), *_LISTED) if _has(writer, table)]
    if any(writer.row(f"SELECT 1 FROM {table} LIMIT 1") is not None for table in tables):
        return False
    for table in tables:
        writer.execute(f"DROP TABLE {table}")
    return True


def _end_of(writer: Writer, table: str) -> None:
    """Drop the tables of a layout once the last of them is moved."""
    if table == "old_vector":
        has_rows = writer.row("SELECT 1 FROM old_source LIMIT 1") is not None
        for old in reversed(_KEYS):
            writer.execute(f"DROP TABLE {old}")
        if has_rows:
            storage.set_rewrite_due(writer)
    if table == "listed_fragment":
        for listed in _LISTED:
            writer.execute(f"DROP TABLE {listed}")


def _has(reader: Reader, table: str) -> bool:
    return reader.row("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)) is not None


def _move(writer: Writer, table: str, key: str) -> bool:
    """Move the next rows of a table. False if none are left."""
    first = _end(writer, _NEW[table], key)
    bounds = writer.row(
        f"SELECT max({key}) FROM (SELECT {key} FROM {table} WHERE {key} > ?"
        f" ORDER BY {key} LIMIT {BATCH_ROWS})",
        (first,),
    )
    if bounds is None or bounds[0] is None:
        return False
    if table == "old_source":
        _move_sources(writer, first, int(bounds[0]))
    elif table == "listed_fragment":
        into_blocks.move(writer, first, int(bounds[0]))
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
    return 100 * _end(reader, _NEW[table], key) // end if end else 100


def _end(reader: Reader, table: str, key: str) -> int:
    row = reader.row(f"SELECT coalesce(max({key}), 0) FROM {table}")
    return int(row[0]) if row else 0
