"""Reads and writes within one transaction of one connection.

PostgreSQL rewrites and logs a whole value when a part of it changes. Storing a turn changes some
hundred bytes of values of megabytes. So such a value is in several pieces, each in a row. They are
numbered from 0, and all are full except the last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql as pg_sql
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from treering.errors import JournalError
from treering.journal import damage
from treering.journal.contract import NO_SPACE, Patch, Row, RowKey, StoredTable, Value
from treering.journal.postgres import schema
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

PIECE: Final = 2_000
"""Bytes of a piece: four fill a page, and none is moved out of its row."""

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
        return iter(self._run_translated(sql, params))

    def row(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        return self._run_translated(sql, params).fetchone()

    def execute(self, sql: str, params: Sequence[Value] = ()) -> int:
        if is_table(sql):  # two transactions cannot create it together, even IF NOT EXISTS
            self.share()
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
        first = start // PIECE
        row = self._run(
            f"SELECT string_agg(data, CAST('' AS BYTEA) ORDER BY piece) FROM {table}"
            " WHERE space = %s AND id = %s AND piece BETWEEN %s AND %s",
            (*key, first, (start + max(size, 1) - 1) // PIECE),
        ).fetchone()
        data = b"" if row is None or row[0] is None else bytes(row[0])
        begin = start - first * PIECE
        return data[begin : begin + size]

    def extent(self, table: str, key: RowKey) -> int | None:
        sql = f"SELECT sum(length(data)) FROM {table} WHERE space = %s AND id = %s"
        row = self._run(sql, key).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    def allot(self, table: str, size: int, space: int, identity: int | None = None) -> int:
        row = self._run(
            f"INSERT INTO {table} (space, id, piece, data)"
            " SELECT %s, i.id, n,"
            f" decode(repeat('00', least({PIECE}, CAST(%s - n * {PIECE} AS INT))), 'hex')"
            " FROM (SELECT coalesce(%s, nextval(pg_get_serial_sequence(%s, 'id'))) AS id) AS i,"
            f" generate_series(0, (greatest(%s, 1) - 1) / {PIECE}) AS n RETURNING id",
            (space, size, identity, table, size),
        ).fetchone()
        assert row is not None  # there is one piece at least
        return int(row[0])

    def patch(self, table: str, key: RowKey, patches: Sequence[Patch]) -> None:
        """See ``Writer``; only the pieces that the patches are in are written."""
        by_piece = _by_piece(patches)
        rows = self._run(
            f"SELECT piece, data FROM {table} WHERE space = %s AND id = %s AND piece = ANY (%s)",
            (*key, list(by_piece)),
        )
        pieces = {int(row[0]): bytearray(row[1]) for row in rows}
        with damage.decoding("the search index"):
            for number, parts in by_piece.items():
                for start, data in parts:
                    if number not in pieces or start + len(data) > len(pieces[number]):
                        raise ValueError("a value is missing, or too short to be written to")
                    pieces[number][start : start + len(data)] = data
        self._run(
            f"UPDATE {table} SET data = n.data"
            " FROM unnest(CAST(%s AS BIGINT[]), CAST(%s AS BYTEA[])) AS n (piece, data)"
            f" WHERE {table}.space = %s AND {table}.id = %s AND {table}.piece = n.piece",
            (list(pieces), [bytes(piece) for piece in pieces.values()], *key),
        )

    def vector_numbers(self, size: int) -> Sequence[int]:
        """See ``Writer``; a sequence needs no lock."""
        sql = "SELECT nextval('vector_number') FROM generate_series(1, %s)"
        return [int(row[0]) for row in self._run(sql, (size,))]

    def share(self) -> None:
        if not self._shares:
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
            sql = f"DELETE FROM {table} WHERE space = %s AND id = ANY (%s)"
            self._run(sql, [space, list(ids)])

    def tables(self, prefix: str = "") -> list[StoredTable]:
        with self._use():
            stored = schema.tables(self.connection)
        return [table for table in stored if table.name.casefold().startswith(prefix)]

    def defer_references(self) -> None:
        self._run("SET CONSTRAINTS ALL DEFERRED")

    def _run_translated(self, sql: str, params: Sequence[Value]) -> psycopg.Cursor[TupleRow]:
        statement = translate(sql)
        return self._run(statement.sql, statement.bound(params))

    def _run(self, sql: str, params: Sequence[Any] = ()) -> psycopg.Cursor[TupleRow]:
        """Run a statement in the driver's words."""
        query = sql
        with self._use():
            return self.connection.execute(query, params, binary=True)


def _by_piece(patches: Sequence[Patch]) -> dict[int, list[Patch]]:
    """The patches of each piece, with places that count from its first byte."""
    by_piece: defaultdict[int, list[Patch]] = defaultdict(list)
    for place, whole in patches:
        start, data = place, memoryview(whole)
        while len(data):
            number, offset = divmod(start, PIECE)
            fitting = bytes(data[: PIECE - offset])
            by_piece[number].append((offset, fitting))
            start, data = start + len(fitting), data[len(fitting) :]
    return by_piece
