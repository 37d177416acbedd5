"""Lists for people who look around: the newest entries first, and the names there are."""

from __future__ import annotations

from dataclasses import dataclass

from treering.journal.contract import Reader
from treering.journal.entries import compile_filter
from treering.journal.stored import read
from treering.records import Entry, Filter

LAST = 2**63 - 1
"""A sequence number that no entry has."""


@dataclass(frozen=True, slots=True)
class EntryNames:
    """Names that entries of a space have, those of the newest entries first."""

    sources: tuple[str, ...]
    speakers: tuple[str, ...]
    sessions: tuple[str, ...]


def page_back(
    reader: Reader, space: int, condition: Filter, before: int = LAST, limit: int = 100
) -> list[tuple[int, Entry]]:
    """Entries that meet a filter, the newest first, each with its sequence number."""
    where, params = compile_filter(condition, reader.dialect)
    return read(
        reader,
        f"e.space = ? AND e.seq < ?{where} ORDER BY e.seq DESC LIMIT ?",
        (space, before, *params, limit),
    )


def names(reader: Reader, space: int, limit: int) -> EntryNames:
    """Up to ``limit`` names of each kind; a document is named, not its pages."""
    sources = reader.rows(
        "SELECT n.text FROM source s JOIN label n ON n.id = coalesce(s.document, s.name)"
        " WHERE s.space = ? GROUP BY n.text ORDER BY max(s.id) DESC LIMIT ?",
        (space, limit),
    )
    return EntryNames(
        tuple(str(row[0]) for row in sources),
        _values(reader, space, "speaker", limit),
        _values(reader, space, "session", limit),
    )


def _values(reader: Reader, space: int, column: str, limit: int) -> tuple[str, ...]:
    rows = reader.rows(
        f"SELECT b.{column} FROM entry e JOIN body b ON b.id = e.body"
        f" WHERE e.space = ? AND b.{column} IS NOT NULL"
        f" GROUP BY b.{column} ORDER BY max(e.seq) DESC LIMIT ?",
        (space, limit),
    )
    return tuple(str(row[0]) for row in rows)
