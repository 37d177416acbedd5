"""Checks of a whole file: SQLite's own, and every entry against its digest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from treering.errors import JournalCorrupt
from treering.journal import stored
from treering.journal.contract import Database, Reader
from treering.records import Entry

Progress = Callable[[int, int], None]

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
