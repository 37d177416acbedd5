"""The format of a memory: its number, and the script that creates its tables.

Each engine has one ``schema.sql``. CONTRIBUTING.md says how to change it.
"""

from __future__ import annotations

from importlib import resources
from typing import Final

from treering.errors import JournalVersionError

FORMAT: Final = 33


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
