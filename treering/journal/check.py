"""Checks of a whole file: by SQLite, of entries by their digests, of indexes by each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator

from treering.errors import JournalCorrupt
from treering.journal import stored
from treering.journal.contract import Database, Reader
from treering.journal.space import SpaceReader
from treering.records import Entry

Progress = Callable[[int, int], None]

REINDEX_HELP = "`treering doctor --reindex` makes all indexes anew from the entries themselves"

PAGE = 500  # entries read at a time: no long read transaction keeps the WAL from shrinking


def problems(database: Database, progress: Progress | None = None) -> list[str]:
    """The problems of a file; empty if it is sound. ``progress`` counts entries of all spaces.

    Every entry that differs from what was stored is named; its text is not shown.
    """
    findings = database.check()
    try:
        findings += _damaged_entries(database, progress)
    except JournalCorrupt as error:  # so damaged that the entries cannot even be counted
        findings.append(str(error))
    return findings


def readable(database: Database, space: int, errors: list[JournalCorrupt]) -> Iterator[Entry]:
    """The entries of a space that are as they were stored, in the order they were added.

    What is wrong with the others is appended to ``errors``.
    """
    for seqs in _pages(database, space):
        with database.read() as reader:
            entries, wrong = _separate_damaged(reader, space, seqs)
        errors += wrong.values()
        yield from entries


def _damaged_entries(database: Database, progress: Progress | None) -> list[str]:
    with database.read() as reader:
        row = reader.row("SELECT count(*) FROM entry")
    total, done, findings = int(row[0]) if row else 0, 0, []
    for space, seqs in _pages_of_all(database):
        with database.read() as reader:
            wrong = _separate_damaged(reader, space, seqs)[1]
            findings += [f"{_named(reader, space)}{error}" for error in wrong.values()]
        done += len(seqs)
        if progress is not None:
            progress(done, max(total, done))
    return findings


def _pages_of_all(database: Database) -> Iterator[tuple[int, list[int]]]:
    """The sequence numbers of the entries of all spaces, space by space."""
    with database.read() as reader:
        spaces = [int(row[0]) for row in reader.rows("SELECT DISTINCT space FROM entry")]
    for space in spaces:
        for seqs in _pages(database, space):
            yield space, seqs


def _pages(database: Database, space: int) -> Iterator[list[int]]:
    """The sequence numbers of the entries of a space."""
    after = -1
    while True:
        with database.read() as reader:
            rows = reader.rows(
                "SELECT seq FROM entry WHERE space = ? AND seq > ? ORDER BY seq LIMIT ?",
                (space, after, PAGE),
            )
            seqs = [int(row[0]) for row in rows]
        if not seqs:
            return
        yield seqs
        after = seqs[-1]


def _separate_damaged(
    reader: Reader, space: int, seqs: list[int]
) -> tuple[list[Entry], dict[int, JournalCorrupt]]:
    """The entries that are as they were stored, and what is wrong with the others."""
    try:
        rows = stored.read(
            reader,
            "e.space = ? AND e.seq BETWEEN ? AND ? ORDER BY e.seq",
            (space, seqs[0], seqs[-1]),
        )
        within = set(seqs)
        return [entry for seq, entry in rows if seq in within], {}
    except JournalCorrupt:
        pass  # one entry of the page is damaged: read them one by one to tell which
    entries: list[Entry] = []
    wrong: dict[int, JournalCorrupt] = {}
    for seq in seqs:
        try:
            rows = stored.read(reader, "e.space = ? AND e.seq = ?", (space, seq))
            entries += [entry for _, entry in rows]
        except JournalCorrupt as error:
            wrong[seq] = error
    return entries, wrong


def _named(reader: Reader, space: int) -> str:
    """The name of an entry's space, if that can be read: ids are those of one space."""
    try:
        row = reader.row("SELECT name FROM space WHERE id = ?", (space,))
    except JournalCorrupt:
        return ""
    return f"space {row[0]!r}: " if row else ""


def refuse_incomplete(reader: SpaceReader, numbers: Collection[int] | None = None) -> None:
    """Raise JournalCorrupt if indexes lead to different numbers of a space's entries.

    Of the sources of these ``numbers``, or of all. A server sees to its indexes itself.
    """
    of_all, of_sources = reader.dialect.entry_indexes
    indexes, where = of_all, ""
    params: tuple[int | str, ...] = (reader.id,)
    if numbers is not None:
        indexes, where = of_sources, " AND source IN (SELECT value FROM json_each(?))"
        params = (reader.id, json.dumps(list(numbers)))
    counts = {
        index: reader.row(
            f"SELECT count(*) FROM entry INDEXED BY {index} WHERE space = ?{where}", params
        )
        for index in indexes
    }
    sizes = {index: int(row[0]) if row else 0 for index, row in counts.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{size:,} by {index}" for index, size in sizes.items())
        raise JournalCorrupt(
            f"an index is damaged and hides entries of space {reader.name!r}: there are {told}; "
            f"{REINDEX_HELP}"
        )
