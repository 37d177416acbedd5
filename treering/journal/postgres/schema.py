"""The tables of a memory in PostgreSQL: made and brought up to date when it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import psycopg
from psycopg.rows import TupleRow

from treering.errors import JournalError, JournalVersionError, UnknownName
from treering.journal.postgres import scope
from treering.journal.postgres.location import Location
from treering.journal.postgres.locks import Locks
from treering.journal.scripts import migration_scripts

MIN_SERVER: Final = 150_000
"""PostgreSQL 15, as the server numbers its versions."""

_TABLE: Final = "treering_version"


def prepare(connection: psycopg.Connection[TupleRow], location: Location, *, create: bool) -> None:
    """Make the tables or bring them up to date, all in one transaction.

    Raises JournalVersionError, JournalError, and without ``create`` UnknownName if there are none.
    """
    _refuse_server(connection, location.shown)
    migrations = _migrations()
    newest = max(migrations)
    version = _version(connection, location.schema)
    if version is None and not create:
        raise UnknownName(
            f"there is no memory at {location.shown}; leave create=False out to make one"
        )
    if version is not None:
        refuse_newer(version, location.shown)
    if version != newest:
        _migrate(connection, location, migrations)


def refuse_newer(version: int, shown: str) -> None:
    """Raise JournalVersionError if a newer treering has made or changed the tables."""
    newest = max(_migrations())
    if version > newest:
        raise JournalVersionError(
            f"{shown} has version {version}, this treering reads up to {newest}; upgrade treering, "
            "and start anew what runs"
        )


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


def _migrate(
    connection: psycopg.Connection[TupleRow], location: Location, migrations: Mapping[int, str]
) -> None:
    schema = location.schema
    with connection.transaction():
        connection.execute(Locks(schema).for_writer_of(None))
        connection.execute(scope.ALL)
        version = _version(connection, schema)  # again: another process may have been faster
        if version is None:
            _begin(connection, location)
        for number in sorted(migrations):
            if version is None or number > version:
                connection.execute(migrations[number])
        connection.execute(f"UPDATE {_TABLE} SET number = {max(migrations)}")


def _begin(connection: psycopg.Connection[TupleRow], location: Location) -> None:
    """Make the schema, unless it is there and empty."""
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
    connection.execute(f"CREATE TABLE {_TABLE} (number BIGINT NOT NULL)")
    connection.execute(f"INSERT INTO {_TABLE} VALUES (0)")


def _version(connection: psycopg.Connection[TupleRow], schema: str) -> int | None:
    row = connection.execute(
        "SELECT to_regclass(%s) IS NOT NULL", (f'"{schema}".{_TABLE}',)
    ).fetchone()
    if row is None or not row[0]:
        return None
    number = connection.execute(f"SELECT number FROM {_TABLE}").fetchone()
    return None if number is None else int(number[0])


def _migrations() -> Mapping[int, str]:
    """The migrations by number; the first makes the tables as SQLite's with that number do."""
    return migration_scripts("treering.journal.postgres")
