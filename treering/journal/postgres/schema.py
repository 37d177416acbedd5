"""The tables of a memory in PostgreSQL: created at the first opening, and described."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import psycopg
from psycopg.rows import TupleRow

from treering.errors import JournalError, JournalVersionError, UnknownMemory
from treering.journal import schema
from treering.journal.contract import StoredTable
from treering.journal.postgres.location import Location
from treering.journal.postgres.locks import WriterLocks

MIN_SERVER: Final = 150_000
"""PostgreSQL 15, as the server numbers its versions."""

_TABLE: Final = "treering_version"


def prepare(connection: psycopg.Connection[TupleRow], location: Location, *, create: bool) -> None:
    """Create the tables, all in one transaction, unless they exist.

    Raises JournalVersionError, JournalError, and UnknownName if the tables are missing and
    ``create`` is not set.
    """
    _refuse_server(connection, location.shown)
    number = _version(connection, location.schema)
    if number is None and not create:
        raise UnknownMemory(f"there is no memory at {location.shown}")
    if number is None:
        number = _create(connection, location)
    schema.refuse_unreadable(number, location.shown)


def _refuse_server(connection: psycopg.Connection[TupleRow], shown: str) -> None:
    server = connection.info.server_version
    if server < MIN_SERVER:
        raise JournalVersionError(
            f"{shown}: the server is PostgreSQL {server // 10_000}; treering needs 15 or newer"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise JournalError(
            f"{shown}: the database stores texts as {encoding}; make one with ENCODING 'UTF8'"
        )


def _create(connection: psycopg.Connection[TupleRow], location: Location) -> int:
    """Create the tables unless another process was faster; return the number of their format."""
    with connection.transaction():
        connection.execute(WriterLocks(location.schema).for_writer_of(None))
        number = _version(connection, location.schema)
        if number is None:
            _ensure_empty(connection, location)
            connection.execute(schema.script("treering.journal.postgres"))
            connection.execute(f"INSERT INTO {_TABLE} VALUES ({schema.FORMAT})")
    return schema.FORMAT if number is None else number


def _ensure_empty(connection: psycopg.Connection[TupleRow], location: Location) -> None:
    """Make the schema, unless it exists and is empty. Raises JournalError."""
    row = connection.execute(
        "SELECT count(c.oid) FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid"
        " AND c.relkind IN ('r', 'p', 'v') WHERE n.nspname = %s GROUP BY n.oid",
        (location.schema,),
    ).fetchone()
    if row is None:
        connection.execute(f'CREATE SCHEMA "{location.schema}"')
    elif row[0]:
        raise JournalError(
            f"{location.shown}: the schema {location.schema!r} has tables of another program; "
            "name another one with ?schema=NAME"
        )


def _version(connection: psycopg.Connection[TupleRow], schema: str) -> int | None:
    row = connection.execute(
        "SELECT to_regclass(%s) IS NOT NULL", (f'"{schema}".{_TABLE}',)
    ).fetchone()
    if row is None or not row[0]:
        return None
    number = connection.execute(f"SELECT number FROM {_TABLE}").fetchone()
    return None if number is None else int(number[0])


# ---------------------------------------------------------------------------- the tables that exist

_COLUMNS: Final = """
    SELECT CAST(c.relname AS TEXT), CAST(a.attname AS TEXT), a.atttypid = 'text'::regtype
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND c.relkind IN ('r', 'p')
    AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum
"""


def tables(connection: psycopg.Connection[TupleRow]) -> list[StoredTable]:
    """The tables of the schema, by name."""
    columns: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for table, column, is_text in connection.execute(_COLUMNS):
        columns[table].append((column, is_text))
    return [
        StoredTable(
            table,
            tuple(column for column, _ in of_table),
            frozenset(column for column, is_text in of_table if is_text),
        )
        for table, of_table in columns.items()
    ]
