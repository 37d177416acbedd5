"""From a URL to a database."""

from __future__ import annotations

from pathlib import Path

from treering.errors import InputError
from treering.journal.contract import Database
from treering.journal.sqlite import SqliteDatabase

SQLITE = "sqlite:///"


def open_database(url: str | Path) -> Database:
    """The database at a path or ``sqlite:///`` URL, created if it is not there.

    Raises InputError for another kind of URL, JournalError when it cannot be opened.
    """
    if isinstance(url, Path):
        return SqliteDatabase(url)
    if url.startswith(SQLITE):
        return SqliteDatabase(Path(url.removeprefix(SQLITE)))
    if "://" in url:
        scheme = url.partition("://")[0]
        raise InputError(f"cannot open {scheme}://…; give a path or {SQLITE}PATH")
    return SqliteDatabase(Path(url))
