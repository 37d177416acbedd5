"""From a URL to a database."""

from __future__ import annotations

from pathlib import Path

from treering.errors import InputError, UnknownName
from treering.journal.contract import Database
from treering.journal.sqlite import SqliteDatabase

SQLITE = "sqlite:///"


def open_database(url: str | Path, *, create: bool = True) -> Database:
    """The database at a path or ``sqlite:///`` URL, created if it is not there.

    Raises InputError for another kind of URL, JournalError when it cannot be opened, and without
    ``create`` UnknownName when it is not there.
    """
    path = _path(url)
    if not create and not path.exists():
        raise UnknownName(f"there is no memory at {path}; leave create=False out to make one")
    return SqliteDatabase(path)


def _path(url: str | Path) -> Path:
    if isinstance(url, Path):
        return url
    if "://" in url and not url.startswith(SQLITE):
        scheme = url.partition("://")[0]
        raise InputError(f"cannot open {scheme}://…; give a path or {SQLITE}PATH")
    return Path(url.removeprefix(SQLITE))
