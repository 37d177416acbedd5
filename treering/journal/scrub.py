"""Removing what was erased from the bytes of a SQLite file and its log.

What users wrote stands in rows that are never moved, and is overwritten where it stands: once the
log has gone into the file, and was cut to nothing, it is in neither. Other tables hold words too,
such as names in statements. SQLite moves their rows about, and may leave copies of them in unused
parts of pages. Such a table is emptied, which zeroes all of its pages, and filled again; if it is
too large for that, the whole file is to be rewritten.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from treering import forks
from treering.journal import storage
from treering.journal.contract import Reader, Writer

WAIT_S: Final = 0.15
"""Writers wait for a checkpoint, and that for readers, no longer at a time."""

PATIENCE_S: Final = 2.0
"""Scrubbing waits no longer for readers and writers, unless told to: it can be done later."""

PAUSE_S: Final = 0.05
"""Between two attempts to empty the log."""

GATHER_S: Final = 1.0
"""A scrubbing waits no longer for other threads that are erasing."""

SMALL_FILE: Final = 32 << 20
"""Bytes of a file that is rewritten at once where that is due; a larger one when there is time."""

MAX_ROWS: Final = 100_000
MAX_BYTES: Final = 64 << 20
_SAMPLE: Final = 200

NUMBERED: Final = ("statement",)
"""Tables whose rows get numbers that are never given twice, and are not changed: the numbers tell
whether a row has gone. SQLite copies only rows that are or were there, so a table that has lost
none since it was filled holds nothing else. Whoever changes a row calls ``storage.drop_filled``;
so does a migration that makes such a table anew.
"""
_COPY: Final = "temp.scrub_copy"


class ScrubQueue:
    """Scrubbings of one file asked for by many threads: one does it for all that wait.

    A scrubbing counts for whoever asked before it began, as what they erased was stored then.
    """

    def __init__(self) -> None:
        self._begin()
        forks.renew_in_child(self, ScrubQueue._begin)

    def _begin(self) -> None:
        # Two, so that a thread that arrives wakes only the one that gathers, not all that wait.
        lock = threading.RLock()
        self._condition = threading.Condition(lock)  # a scrubbing has ended
        self._arrived = threading.Condition(lock)
        self._erasing: set[int] = set()  # threads that have announced a scrubbing
        self._waiting: set[_Request] = set()
        self._is_running = False

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """The time in which a thread erases, and then calls ``run`` once or not at all."""
        with self._condition:
            self._erasing.add(threading.get_ident())
        try:
            yield
        finally:
            self._arrive()

    def _arrive(self) -> None:
        with self._condition:
            self._erasing.discard(threading.get_ident())
            self._arrived.notify_all()

    def run(self, tables: Collection[str], scrub: Callable[[Collection[str]], bool]) -> bool:
        """The result of a scrubbing of tables that begins after this call.

        ``scrub`` does it. Raises what it raises, in every thread that waits for it.
        """
        self._arrive()
        request = _Request(frozenset(tables))
        with self._condition:
            self._waiting.add(request)
            self._condition.wait_for(lambda: request.is_done or not self._is_running)
            if request.is_done:
                return request.result()
            self._is_running = True
            try:
                self._arrived.wait_for(lambda: not self._erasing, GATHER_S)
            except BaseException:  # an interrupted thread leaves it to another one
                self._waiting.discard(request)
                self._is_running = False
                self._condition.notify_all()
                raise
            together, self._waiting = self._waiting, set()
        try:
            clean = scrub(frozenset().union(*(other.tables for other in together)))
            self._finish(together, clean)
        except BaseException as error:
            self._finish(together, error)
            raise
        return clean

    def _finish(self, requests: Collection[_Request], outcome: bool | BaseException) -> None:
        with self._condition:
            for request in requests:
                request.outcome = outcome
            self._is_running = False
            self._condition.notify_all()


class _Request:
    def __init__(self, tables: frozenset[str]) -> None:
        self.tables = tables
        self.outcome: bool | BaseException | None = None

    @property
    def is_done(self) -> bool:
        return self.outcome is not None

    def result(self) -> bool:
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return bool(self.outcome)


def refill(writer: Writer, tables: Collection[str]) -> None:
    """Empty tables and fill them again, so that their pages hold nothing else.

    For a connection without foreign keys, or SQLite would delete row by row, whose temporary tables
    are in main memory. Notes that the file has to be rewritten if a table is too large. A numbered
    table is left as it is if no row of it has gone since it was filled.
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
        if so_far != storage.filled(writer, table) and _refill(writer, table, has_rows):
            storage.set_filled(writer, table, so_far)


def lost(reader: Reader) -> dict[str, int]:
    """How many rows each numbered table ever lost."""
    return {table: _lost(reader, table) for table in NUMBERED}


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
    # A table of the file would have every other connection read all definitions anew.
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
    """Move the log into the file and cut it to nothing. False if a reader stands in the way."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # most of the work, while nobody waits
    row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return int(row[0]) == 0


def blank(writer: Writer, table: str, columns: Sequence[str], ids: Sequence[int]) -> int:
    """See ``Writer.blank``: a row that keeps its size is overwritten where it stands.

    Returns how many bytes were.
    """
    if not ids:
        return 0
    sizes = [f"coalesce(length(CAST({column} AS BLOB)), 0)" for column in columns]
    zeros = ", ".join(f"{c} = zeroblob({size})" for c, size in zip(columns, sizes, strict=True))
    these, listed = "rowid IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    row = writer.row(f"SELECT sum({' + '.join(sizes)}) FROM {table} WHERE {these}", listed)
    writer.execute(f"UPDATE {table} SET {zeros} WHERE {these}", listed)
    return int(row[0] or 0) if row else 0
