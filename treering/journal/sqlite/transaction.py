"""Reads and writes within one transaction of one connection to a file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from treering.errors import JournalError
from treering.journal import damage, storage
from treering.journal.contract import (
    NO_SPACE,
    Dialect,
    Patch,
    Row,
    RowKey,
    StoredTable,
    Value,
)
from treering.journal.sqlite.connection import translate_errors

_TEXT_TYPES = ("CHAR", "CLOB", "TEXT")
"""Parts of the type of a column by which SQLite stores texts in it."""


class SqliteTransaction:
    """Reader and Writer over one connection; lives inside ``read()`` or ``write()``."""

    dialect = Dialect()

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._blanked = 0  # bytes, which are noted once, at the end

    def rows(self, sql: str, params: Sequence[Value] = ()) -> Iterator[Row]:
        with translate_errors(self._path):
            # A chain lacks ``close``, which a generator dropped after its connection was closed, as
            # by Ctrl-C, would call on the cursor, and which would fail.
            yield from chain(self._connection.execute(sql, params))

    def row(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        with translate_errors(self._path):
            first: Row | None = self._connection.execute(sql, params).fetchone()
            return first

    def execute(self, sql: str, params: Sequence[Value] = ()) -> int:
        with translate_errors(self._path):
            return self._connection.execute(sql, params).rowcount

    def insert_many(self, sql: str, params: Iterable[Sequence[Value]]) -> list[int]:
        rows = list(params)
        with translate_errors(self._path):
            if len(rows) < 2:
                return [self._connection.execute(sql, row).fetchone()[0] for row in rows]
            # RETURNING would take a fifth of the time of a large add.
            self._connection.executemany(sql.partition(" RETURNING ")[0], rows)
            [last] = self._connection.execute("SELECT last_insert_rowid()").fetchone()
        # This is the only writer, and each new row gets the number after the highest one.
        return list(range(last - len(rows) + 1, last + 1))

    def many(self, sql: str, params: Iterable[Sequence[Value]]) -> None:
        with translate_errors(self._path):
            self._connection.executemany(sql, params)

    @property
    def space(self) -> int:
        raise JournalError(NO_SPACE)

    def part(self, table: str, key: RowKey, start: int, size: int) -> bytes:
        with (
            translate_errors(self._path),
            _open_value(self._connection, table, key[1], readonly=True) as value,
        ):
            if value is None:
                return b""
            value.seek(min(start, len(value)))
            return value.read(size)

    def extent(self, table: str, key: RowKey) -> int | None:
        row = self.row(f"SELECT length(data) FROM {table} WHERE id = ?", (key[1],))
        return None if row is None else int(row[0])

    def allot(self, table: str, size: int, space: int, identity: int | None = None) -> int:  # noqa: ARG002
        sql = f"INSERT INTO {table} (id, data) VALUES (?, zeroblob(?)) RETURNING id"
        return self.insert_many(sql, [(identity, size)])[0]

    def patch(self, table: str, key: RowKey, patches: Sequence[Patch]) -> None:
        with (
            translate_errors(self._path),
            _open_value(self._connection, table, key[1], readonly=False) as value,
            damage.decoding("the search index"),
        ):
            for start, data in patches:
                if value is None or start + len(data) > len(value):
                    raise ValueError("a value is missing, or too short to be written to")
                value.seek(start)
                value.write(data)

    def vector_numbers(self, size: int) -> Sequence[int]:
        row = self.row(
            "INSERT INTO storage (name, value) VALUES ('vectors', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value RETURNING value",
            (size,),
        )
        assert row is not None  # one was written
        last = int(row[0])
        return range(last - size + 1, last + 1)

    def share(self) -> None:
        """Nothing to do: a writer is alone in the file."""

    def blank(
        self,
        table: str,
        columns: Sequence[str],
        space: int | str,  # noqa: ARG002
        ids: Sequence[int],
    ) -> None:
        if ids:
            zeros = (f"{c} = zeroblob(coalesce(length(CAST({c} AS BLOB)), 0))" for c in columns)
            size = " + ".join(f"length({column})" for column in columns)
            rows = self.rows(
                f"UPDATE {table} SET {', '.join(zeros)}"
                f" WHERE rowid IN (SELECT value FROM json_each(?)) RETURNING {size}",
                (json.dumps(list(ids)),),
            )
            self._blanked += sum(int(row[0]) for row in rows)

    def commit(self) -> None:
        """Commit, with a count of the blanked bytes."""
        if self._blanked:
            storage.add_blanked(self, self._blanked)
        self.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo what was written, unless it was committed."""
        with translate_errors(self._path):
            self._connection.rollback()

    def tables(self, prefix: str = "") -> list[StoredTable]:
        rows = self.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        names = [str(row[0]) for row in rows if not str(row[0]).startswith("sqlite_")]
        return [self._table(name) for name in names if name.casefold().startswith(prefix)]

    def _table(self, name: str) -> StoredTable:
        info = self.rows("SELECT name, type FROM pragma_table_info(?)", (name,))
        columns = [(str(column).lower(), str(kind).upper()) for column, kind in info]
        return StoredTable(
            name,
            tuple(column for column, _ in columns),
            frozenset(c for c, kind in columns if any(text in kind for text in _TEXT_TYPES)),
        )

    def defer_references(self) -> None:
        self.execute("PRAGMA defer_foreign_keys = ON")


@contextmanager
def _open_value(
    connection: sqlite3.Connection, table: str, identity: int, *, readonly: bool
) -> Iterator[sqlite3.Blob | None]:
    """A large value, to read or write in parts; None if it is missing."""
    try:
        value = connection.blobopen(table, "data", identity, readonly=readonly)
    except sqlite3.OperationalError as error:
        # SQLite says the same of a value of another kind, which only damage can be.
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        yield None
        return
    with value:
        yield value
