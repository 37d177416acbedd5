"""From a URL to a database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from treering.errors import InputError, MissingExtra, UnknownMemory
from treering.journal.contract import Database
from treering.journal.sqlite.database import SqliteDatabase

SQLITE: Final = "sqlite:///"
POSTGRES: Final = ("postgresql://", "postgres://")


def open_database(url: str | Path, *, create: bool = True) -> Database:
    """The database at a path, ``sqlite:///`` or ``postgresql://`` URL, made if it is not there.

    Raises InputError for another kind of URL, JournalError when it cannot be opened, MissingExtra
    where PostgreSQL's driver is not installed, and without ``create`` UnknownName when it is not
    there.
    """
    if not isinstance(url, str | os.PathLike):
        raise InputError(f"a memory at {url!r}; give a path, or a URL as a text")
    if is_postgres(url):
        with _driver():
            from treering.journal.postgres.database import PostgresDatabase
        return PostgresDatabase(str(url), create=create)
    path = _path(url)
    if not create and not path.exists():
        raise UnknownMemory(f"there is no memory at {path}")
    return SqliteDatabase(path)


def is_postgres(url: str | Path) -> bool:
    """Whether a URL is of PostgreSQL."""
    return isinstance(url, str) and url.startswith(POSTGRES)


def shown_url(url: str) -> str:
    """A URL as it may be shown: without a password, which those of PostgreSQL may have."""
    if not is_postgres(url):
        return url
    with _driver():
        from treering.journal.postgres.location import Location
    return Location.parse(url).shown


@contextmanager
def _driver() -> Iterator[None]:
    """Around an import that needs PostgreSQL's driver. Raises MissingExtra."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra.of("psycopg", "postgres") from error


def _path(url: str | Path) -> Path:
    if isinstance(url, Path):
        return url
    if "://" in url and not url.startswith(SQLITE):
        scheme = url.partition("://")[0]
        if scheme in ("http", "https"):
            raise InputError(
                f"this needs the memory itself, not its server at {scheme}://…; run it on the "
                f"machine of the memory, with the path of its file or its {POSTGRES[0]}… URL"
            )
        raise InputError(
            f"cannot open {scheme}://…; give a path, {SQLITE}PATH, {POSTGRES[0]}… or, of a "
            "treering server, http://… or https://…"
        )
    if not (path := url.removeprefix(SQLITE)).strip():
        raise InputError(f"a memory at {url!r} has no name; give the path of its file")
    return Path(path)
