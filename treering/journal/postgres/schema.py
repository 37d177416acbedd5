"""The tables of a memory in PostgreSQL: made and brought up to date when it is opened."""

from __future__ import annotations

from typing import Final

import psycopg
from psycopg.rows import TupleRow

from treering.errors import JournalError, JournalVersionError, UnknownMemory
from treering.journal import schema
from treering.journal.postgres import scope
from treering.journal.postgres.location import Location
from treering.journal.postgres.locks import Locks

MIN_SERVER: Final = 150_000
"""PostgreSQL 15, as the server numbers its versions."""

_TABLE: Final = "treering_version"


def prepare(connection: psycopg.Connection[TupleRow], location: Location, *, create: bool) -> None:
    """Make the tables or bring them up to date, all in one transaction.

    Raises JournalVersionError, JournalError, and without ``create`` UnknownName if there are none.
    """
    _refuse_server(connection, location.shown)
    number = _version(connection, location.schema)
    if number is None and not create:
        raise UnknownMemory(f"there is no memory at {location.shown}")
    if number is not None:
        schema.refuse_unreadable(number, location.shown)
    if number != schema.newest():
        _bring_up_to_date(connection, location)


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


def _bring_up_to_date(connection: psycopg.Connection[TupleRow], location: Location) -> None:
    with connection.transaction():
        connection.execute(Locks(location.schema).for_writer_of(None))
        connection.execute(scope.ALL)
        number = _version(
            connection, location.schema
        )  # again: another process may have been faster
        if number is None:
            _ensure_empty(connection, location)
            connection.execute(schema.script("treering.journal.postgres"))
            connection.execute(f"INSERT INTO {_TABLE} VALUES ({schema.newest()})")
            return
        schema.refuse_unreadable(number, location.shown)
        for step in schema.steps_after(number):
            connection.execute(step.postgres)
        connection.execute(f"UPDATE {_TABLE} SET number = {schema.newest()}")


def _ensure_empty(connection: psycopg.Connection[TupleRow], location: Location) -> None:
    """Make the schema, unless it exists and has no tables. Raises JournalError."""
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
