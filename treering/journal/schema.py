"""The tables of a file: the newest ones at once in a new file, migrations in an older one.

``schema.sql`` is what the migrations and the takeover leave behind, written down by
``python -m tools.generate_schema``: a new file need not live through its history.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from importlib import resources

from treering.journal.contract import Reader, Writer
from treering.journal.scripts import migration_scripts


def version(reader: Reader) -> int:
    """How many migrations a file has had; 0 of an empty one."""
    row = reader.row("PRAGMA user_version")
    return int(row[0]) if row else 0


def newest() -> int:
    """The version of a file that has had all migrations."""
    return len(migrations())


def bring_up_to_date(writer: Writer) -> None:
    """Apply what a file lacks. Its version is asked for again: a process may have been faster."""
    start = version(writer)
    if start >= newest():  # perhaps by a newer treering, whose version must stay
        return
    if start == 0 and writer.row("SELECT 1 FROM sqlite_master") is None:
        steps = [tables()]
    else:
        steps = [migrations()[number] for number in range(start, newest())]
    for statement in (statement for step in steps for statement in step):
        writer.execute(statement)
    writer.execute(f"PRAGMA user_version={newest()}")


@cache
def migrations() -> tuple[tuple[str, ...], ...]:
    """The migrations in order, each as statements; the n-th takes a file from version n - 1 to n.

    A number without a file is that of one that another engine needs alone. They are taken apart
    once a process.
    """
    scripts = migration_scripts("treering.journal")
    return tuple(
        tuple(_statements(scripts.get(number, ""))) for number in range(1, max(scripts) + 1)
    )


@cache
def tables() -> tuple[str, ...]:
    """What makes all tables and indexes of the newest version, as statements."""
    script = resources.files("treering.journal").joinpath("schema.sql")
    return tuple(_statements(script.read_text("utf-8")))


def _statements(script: str) -> Iterator[str]:
    """The statements of an SQL script (executescript would commit the transaction)."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
