"""The format of a memory: the script that makes its tables, and the number of the format.

Each engine has one ``schema.sql``, for a new memory. ``STEPS`` bring a memory of an earlier release
up to date: CONTRIBUTING.md says how to write one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from treering.errors import JournalVersionError
from treering.journal.contract import Reader, Writer


@dataclass(frozen=True, slots=True)
class Step:
    """The scripts that take a memory from one format to the next, one script an engine."""

    sqlite: str
    postgres: str


FIRST: Final = 29
"""The format of the first release. Unreleased versions wrote lower numbers."""

STEPS: tuple[Step, ...] = ()
"""The first one takes a memory from format ``FIRST`` to ``FIRST`` + 1, and so on."""


def newest() -> int:
    """Return the number of the format that this treering writes."""
    return FIRST + len(STEPS)


def steps_after(number: int) -> Sequence[Step]:
    """Return the steps that a memory of format ``number`` lacks."""
    return STEPS[number - FIRST :]


def refuse_unreadable(number: int, name: str) -> None:
    """Raise JournalVersionError for the format of a newer or an unreleased treering."""
    if number > newest():
        raise JournalVersionError(
            f"{name} has format {number}, this treering reads up to {newest()}; upgrade treering, "
            "and restart every process that still runs the old one"
        )
    if number < FIRST:
        raise JournalVersionError(
            f"{name} has format {number}, which an unreleased treering wrote, and this one reads "
            f"formats from {FIRST}; run `treering export` with the treering that wrote it, and "
            "`treering import` with this one into a new memory"
        )


def script(package: str) -> str:
    """Return the script that makes all tables of an engine."""
    return resources.files(package).joinpath("schema.sql").read_text("utf-8")


def version(reader: Reader) -> int:
    """Return the number of a file's format; 0 for an empty file."""
    row = reader.row("PRAGMA user_version")
    return int(row[0]) if row else 0


def is_empty(reader: Reader) -> bool:
    """Return whether a file has no tables yet."""
    return reader.row("SELECT 1 FROM sqlite_schema") is None


def bring_up_to_date(writer: Writer, name: str) -> None:
    """Make the tables of an empty file, or run the steps that the file lacks.

    Raises JournalVersionError for a file that another process has changed to an unreadable format.
    """
    if is_empty(writer):
        scripts = [script("treering.journal")]
    else:
        number = version(writer)
        refuse_unreadable(number, name)
        scripts = [step.sqlite for step in steps_after(number)]
    for statement in (statement for text in scripts for statement in _statements(text)):
        writer.execute(statement)
    writer.execute(f"PRAGMA user_version={newest()}")


def _statements(text: str) -> Iterator[str]:
    """Split a script into its statements (executescript would commit the transaction)."""
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
