"""Reads and writes within one transaction of one connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql as pg_sql
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from treering.errors import JournalError
from treering.journal.contract import NO_SPACE, Patch, Row, RowKey, StoredTable, Value
from treering.journal.postgres import pieces, schema
from treering.journal.postgres.failures import translate_errors as translated_errors
from treering.journal.postgres.locks import WriterLocks
from treering.journal.postgres.statements import (
    PostgresDialect,
    escape,
    is_definition,
    is_table,
    translate,
)
from treering.journal.space import UNNAMED

PgConnection = psycopg.Connection[TupleRow]

ALL_SPACES: Final = "SELECT set_config('treering.all', 'on', true)"
_ONE_SPACE: Final = pg_sql.SQL(
    "SELECT set_config('treering.all', '', true), set_config('treering.name', {name}, true),"
    " set_config('treering.space',"
    " coalesce((SELECT CAST(id AS TEXT) FROM space WHERE name = {name}), ''), true)"
)


def enter(space: str | None) -> str:
    """Return the statement that lets a transaction see the rows of one space, or of all.

    Row-level security hides the rows of other spaces, also from the owner of the tables, but not
    from a superuser or a role with BYPASSRLS. The setting ends with the transaction. The space
    need not exist yet. A transaction without the statement sees no row of any space.
    """
    if space is None or space == UNNAMED:
        return ALL_SPACES
    return _ONE_SPACE.format(name=pg_sql.Literal(escape(space))).as_string(None)


class PostgresTransaction:
    """Reader and Writer over one connection; lives inside ``read()`` or ``write()``."""

    dialect = PostgresDialect()

    def __init__(
        self,
        connection: PgConnection,
        name: str,
        locks: WriterLocks,
        space: str | None = None,
    ) -> None:
        self.connection = connection
        self._space = space
        self._name = name
        self._locks = locks
        self._shares = False
        self.refuse: Callable[[], None] = lambda: None
        """Called before each statement. It raises an error once the database was closed."""

    @contextmanager
    def within(self, space: str | None) -> Iterator[None]:
        """Work in another space for a while, or in all of them."""
        before = self._space
        if space == before:
            yield
            return
        self._enter(space)
        try:
            yield
        finally:
            if self.connection.info.transaction_status == TransactionStatus.INTRANS:
                self._enter(before)

    def _enter(self, space: str | None) -> None:
        with self._use():
            self._run(enter(space))
        self._space = space

    @contextmanager
    def _use(self) -> Iterator[None]:
        """A use of the connection: translate its errors, and refuse it once closed."""
        self.refuse()
        with translated_errors(self._name):
            yield

    def rows(self, sql: str, params: Sequence[Value] = ()) -> Iterator[Row]:
        """See ``Reader``; the server sends all rows together."""
        with self._use():
            return iter(self._run_translated(sql, params))

    def row(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        with self._use():
            return self._run_translated(sql, params).fetchone()

    def execute(self, sql: str, params: Sequence[Value] = ()) -> int:
        if is_table(sql):  # two transactions cannot create it together, even IF NOT EXISTS
            self.share()
        with self._use():
            count = self._run_translated(sql, params).rowcount
            if is_definition(sql):
                self._run("SELECT treering_without_statistics()")
            return count

    def insert_many(self, sql: str, params: Iterable[Sequence[Value]]) -> list[int]:
        """See ``Writer``; the rows go to the server together."""
        every = list(params)  # first, because the generator may use the same connection
        if not every:
            return []
        with self._use():
            statement = translate(sql)
            bound = [statement.bound(row) for row in every]
            with self.connection.cursor(binary=True) as cursor:
                cursor.executemany(statement.sql, bound, returning=True)
                return [row[0] for result in cursor.results() for row in result]

    def many(self, sql: str, params: Iterable[Sequence[Value]]) -> None:
        statement = translate(sql)
        # First, because the generator may use the same connection.
        every = [statement.bound(values) for values in params]
        if every:
            with self._use(), self.connection.cursor() as cursor:
                cursor.executemany(statement.sql, every)

    @property
    def space(self) -> int:
        raise JournalError(NO_SPACE)

    def part(self, table: str, key: RowKey, start: int, size: int) -> bytes:
        with self._use():
            return pieces.part(self.connection, table, key, start, size)

    def extent(self, table: str, key: RowKey) -> int | None:
        with self._use():
            return pieces.extent(self.connection, table, key)

    def allot(self, table: str, size: int, space: int, identity: int | None = None) -> int:
        with self._use():
            return pieces.allot(self.connection, table, size, space, identity)

    def patch(self, table: str, key: RowKey, patches: Sequence[Patch]) -> None:
        with self._use():
            pieces.patch(self.connection, table, key, patches)

    def vector_numbers(self, size: int) -> Sequence[int]:
        """See ``Writer``; a sequence needs no lock."""
        sql = "SELECT nextval('vector_number') FROM generate_series(1, %s)"
        with self._use():
            return [int(row[0]) for row in self._run(sql, (size,))]

    def share(self) -> None:
        if not self._shares:
            with self._use():
                self._run(self._locks.for_shared_rows)
            self._shares = True

    def blank(
        self,
        table: str,
        columns: Sequence[str],  # noqa: ARG002
        space: int | str,
        ids: Sequence[int],
    ) -> None:
        """Delete the rows: overwriting would leave the old ones behind like deleting does."""
        if ids:
            with self._use():
                sql = f"DELETE FROM {table} WHERE space = %s AND id = ANY (%s)"
                self._run(sql, [space, list(ids)])

    def tables(self, prefix: str = "") -> list[StoredTable]:
        with self._use():
            stored = schema.tables(self.connection)
        return [table for table in stored if table.name.casefold().startswith(prefix)]

    def defer_references(self) -> None:
        with self._use():
            self._run("SET CONSTRAINTS ALL DEFERRED")

    def _run_translated(self, sql: str, params: Sequence[Value]) -> psycopg.Cursor[TupleRow]:
        statement = translate(sql)
        return self._run(statement.sql, statement.bound(params))

    def _run(self, sql: str, params: Sequence[Any] = ()) -> psycopg.Cursor[TupleRow]:
        """Run a statement in the driver's words."""
        query = sql
        return self.connection.execute(query, params, binary=True)
