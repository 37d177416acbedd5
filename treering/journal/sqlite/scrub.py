"""Remove erased text from the bytes of a SQLite file and its log.

The rows of texts that users wrote never move, and are overwritten in place: once the log has been
moved into the file and truncated, neither holds the text. Other tables hold words, too, such as
names in statements. SQLite moves their rows, and may leave copies of them in unused parts of pages.
Such a table is refilled: emptying it zeroes all of its pages. If it is too large for that, the
whole file has to be rewritten.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

from treering.journal import storage
from treering.journal.contract import Reader, Writer

WAIT_S: Final = 0.15
"""Writers wait for a checkpoint, and that for readers, no longer at a time."""

PAUSE_S: Final = 0.05
"""Between two attempts to empty the log."""

SMALL_FILE: Final = 32 << 20
"""Bytes of a file that is rewritten immediately; a larger one waits for a patient call."""

MAX_ROWS: Final = 100_000
MAX_BYTES: Final = 64 << 20
_SAMPLE: Final = 200

NUMBERED: Final = ("statement",)
"""Tables whose rows have numbers that are never given twice, and are not changed: the numbers show
whether a row has gone. SQLite copies only rows that exist or existed, so a table that has lost no
row since it was refilled holds nothing else. A change of a row calls ``storage.drop_refill_mark``.
"""
_COPY: Final = "temp.scrub_copy"


def refill(writer: Writer, tables: Collection[str]) -> None:
    """Empty tables and fill them again, so that their pages hold nothing else.

    The connection needs foreign keys off, because SQLite deletes row by row otherwise, and
    temporary tables in main memory. If a table is too large, the file has to be rewritten. A
    numbered table that has lost no row since it was refilled is skipped.
    """
    there = writer.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        " AND name IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(tables)),),
    )
    names = [str(row[0]) for row in there]
    if not names:
        return
    looks = ", ".join(f"EXISTS (SELECT 1 FROM {table})" for table in names)
    for table, has_rows in zip(names, writer.row(f"SELECT {looks}") or (), strict=True):
        if table not in NUMBERED:
            _refill(writer, table, has_rows)
            continue
        so_far = _lost(writer, table)
        if so_far != storage.refill_mark(writer, table) and _refill(writer, table, has_rows):
            storage.set_refill_mark(writer, table, so_far)


def mark_refilled(writer: Writer) -> None:
    """Note that the file will hold nothing of the rows that numbered tables have lost so far."""
    for table in NUMBERED:
        storage.set_refill_mark(writer, table, _lost(writer, table))


def _lost(reader: Reader, table: str) -> int:
    """How many rows a numbered table ever lost: all of its numbers that no row has."""
    row = reader.row(
        f"SELECT (SELECT seq FROM sqlite_sequence WHERE name = ?) - (SELECT count(*) FROM {table})",
        (table,),
    )
    return int(row[0]) if row and row[0] is not None else 0


def _refill(writer: Writer, table: str, has_rows: bool) -> bool:
    """Empty a table and fill it again; False if it is too large."""
    if not has_rows:
        writer.execute(f"DELETE FROM {table}")
        return True
    names = _columns(writer, table)  # without those that SQLite computes
    if _is_large(writer, table, names):
        storage.set_rewrite_due(writer)
        return False
    columns = ", ".join(names)
    # A table of the file would make every other connection read all definitions again.
    writer.execute(f"CREATE TABLE {_COPY} AS SELECT {columns} FROM {table}")
    writer.execute(f"DELETE FROM {table}")
    writer.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {_COPY}")
    writer.execute(f"DROP TABLE {_COPY}")
    return True


def _columns(reader: Reader, table: str) -> list[str]:
    """The names of a table's columns, quoted."""
    names = (str(row[1]).replace('"', '""') for row in reader.rows(f"PRAGMA table_info({table})"))
    return [f'"{name}"' for name in names]


def _is_large(reader: Reader, table: str, columns: Sequence[str]) -> bool:
    """Whether a table is too large to be filled again while others wait; its size is estimated."""
    row = reader.row(f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {MAX_ROWS + 1})")
    rows = int(row[0]) if row else 0
    sizes = " + ".join(f"coalesce(length(CAST({column} AS BLOB)), 0)" for column in columns)
    sample = reader.row(f"SELECT avg({sizes}) FROM (SELECT * FROM {table} LIMIT {_SAMPLE})")
    mean = float(sample[0] or 0) if sample else 0.0
    return rows > MAX_ROWS or rows * mean > MAX_BYTES


def empty_log(connection: sqlite3.Connection) -> bool:
    """Move the log into the file and truncate it. Return False if a reader prevents it."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # most of the work, blocking nothing
    row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return int(row[0]) == 0
