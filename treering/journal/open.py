"""From a URL to a database."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from treering import forks
from treering.errors import InputError, MissingExtra, UnknownName
from treering.journal.contract import Database
from treering.journal.sqlite import SqliteDatabase

SQLITE: Final = "sqlite:///"
POSTGRES: Final = ("postgresql://", "postgres://")


def open_database(url: str | Path, *, create: bool = True) -> Database:
    """The database at a path, ``sqlite:///`` or ``postgresql://`` URL, made if it is not there.

    Raises InputError for another kind of URL, JournalError when it cannot be opened, MissingExtra
    where PostgreSQL's driver is not installed, and without ``create`` UnknownName when it is not
    there.
    """
    if is_postgres(url):
        return _open_postgres(str(url), create)
    path = _path(url)
    if not create and not path.exists():
        raise UnknownName(f"there is no memory at {path}; leave create=False out to make one")
    return SqliteDatabase(path)


def is_postgres(url: str | Path) -> bool:
    """Whether a URL is of PostgreSQL."""
    return isinstance(url, str) and url.startswith(POSTGRES)


def _open_postgres(url: str, create: bool) -> Database:
    try:
        with forks.importing():
            from treering.journal.postgres.database import PostgresDatabase
    except ImportError as error:
        raise MissingExtra(
            "PostgreSQL needs an extra; install it with: pip install 'treering[postgres]'"
        ) from error
    return PostgresDatabase(url, create=create)


def _path(url: str | Path) -> Path:
    if isinstance(url, Path):
        return url
    if "://" in url and not url.startswith(SQLITE):
        scheme = url.partition("://")[0]
        raise InputError(f"cannot open {scheme}://…; give a path, {SQLITE}PATH or {POSTGRES[0]}…")
    return Path(url.removeprefix(SQLITE))
