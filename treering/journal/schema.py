"""The format of a memory: its number, and the script that creates its tables.

Each engine has one ``schema.sql``. CONTRIBUTING.md says how to change it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib import resources
from typing import Final

from treering.errors import JournalVersionError
from treering.journal.contract import Reader, Writer

FORMAT: Final = 30


def refuse_unreadable(number: int, name: str) -> None:
    """Raise JournalVersionError for a format that another version of treering wrote."""
    if number > FORMAT:
        raise JournalVersionError(
            f"{name} has format {number}, this treering reads {FORMAT}; upgrade treering, and "
            "restart every process that still runs the old one"
        )
    if number < FORMAT:
        raise JournalVersionError(
            f"{name} has format {number}, this treering reads {FORMAT}; run `treering export` with "
            "the treering that wrote it, and `treering import` with this one into a new memory"
        )


def script(package: str) -> str:
    """Return the script that creates all tables of an engine."""
    return resources.files(package).joinpath("schema.sql").read_text("utf-8")


def is_empty(reader: Reader) -> bool:
    """Return whether a file has no tables yet."""
    return reader.row("SELECT 1 FROM sqlite_schema") is None


def refuse_other_format(reader: Reader, name: str) -> None:
    """Raise JournalVersionError unless this treering reads the format of a file."""
    row = reader.row("PRAGMA user_version")
    refuse_unreadable(int(row[0]) if row else 0, name)


def create(writer: Writer) -> None:
    """Create the tables of an empty file."""
    for statement in _statements(script("treering.journal.sqlite")):
        writer.execute(statement)
    writer.execute(f"PRAGMA user_version={FORMAT}")


def _statements(text: str) -> Iterator[str]:
    """Split a script into its statements: executescript would commit the transaction."""
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
