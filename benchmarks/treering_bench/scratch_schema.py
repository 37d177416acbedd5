"""A schema of a database for one measurement, which goes with it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treering.errors import InputError, MissingExtra
from treering.journal.open import is_postgres

if TYPE_CHECKING:
    from treering.journal.postgres.location import Location


@contextmanager
def scratch_schema(database: str) -> Iterator[str]:
    """The URL of a memory that is not there yet, in a database in which schemas may be made.

    Raises InputError for another URL, or one that names a schema; MissingExtra.
    """
    if not is_postgres(database) or "schema=" in database:
        raise InputError(
            "the database is no URL of PostgreSQL without a schema; give postgresql://…, "
            "a schema of its own is made there and removed"
        )
    name = f"treering_bench_{secrets.token_hex(4)}"
    url = f"{database}{'&' if '?' in database else '?'}schema={name}"
    location = _location(url)
    import psycopg

    try:
        yield url
    finally:
        with psycopg.connect(location.conninfo, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


def held_limit(database: str) -> int:
    """How many fragments of a space are held of a database: a larger one is searched there.

    Raises InputError for another URL; MissingExtra.
    """
    return _location(database).limit


def _location(url: str) -> Location:
    try:
        from treering.journal.postgres.location import Location
    except ImportError as missing:
        raise MissingExtra.of("psycopg", "postgres") from missing
    return Location.of(url)
