"""Entries as rows of the database: read, compared with their digests, and named if damaged."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from treering.errors import EntryCorrupt, JournalCorrupt
from treering.journal import damage
from treering.journal.contract import Database, Reader, Row, Value
from treering.journal.space import SpaceReader
from treering.records import JSON, Entry, Progress

PAGE = 500  # entries read at a time: no long read transaction keeps the WAL from shrinking
REINDEX_HELP = "`treering doctor --reindex` rebuilds all indexes from the entries themselves"

_decode = json.JSONDecoder().raw_decode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS = (
    "e.id, b.text, n.text, e.position, e.kind, e.added, e.at, b.speaker, b.role, b.session, "
    "b.metadata, e.digest, e.seq, e.expires, e.pinned, e.zone, e.key"
)
# LEFT: an entry whose source or body is damaged is an error, not absent.
FROM = (
    "FROM entry e LEFT JOIN body b ON b.id = e.body"
    " LEFT JOIN source s ON s.space = e.space AND s.id = e.source"
    " LEFT JOIN label n ON n.id = s.name"
)
"""An entry ``e``, its body ``b``, its source ``s`` and the name ``n.text`` of the source."""


def micros(moment: datetime) -> int:
    """Microseconds since the epoch; a time without a zone is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    past = moment - _EPOCH
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds


def moment(stamp: int, zone: int = 0) -> datetime:
    """Return the time of ``micros``, on a clock ``zone`` minutes ahead of UTC."""
    utc = _EPOCH + timedelta(microseconds=stamp)
    return utc.astimezone(timezone(timedelta(minutes=zone))) if zone else utc


def zone_minutes(moment: datetime | None) -> int:
    """Return how many minutes the clock of an aware time is ahead of UTC."""
    offset = None if moment is None else moment.utcoffset()
    return offset // timedelta(minutes=1) if offset else 0


@lru_cache(maxsize=64)
def added_moment(stamp: int) -> datetime:
    """``moment`` of when entries were added: all of one ``add`` have the same."""
    return moment(stamp)


def read(reader: Reader, where: str, params: Sequence[Value]) -> list[tuple[int, Entry]]:
    """Return the entries that meet conditions, each with its sequence number.

    Raise EntryCorrupt if some are damaged: it names the first and has the rows of all.
    """
    try:
        # Fetch before decoding: the error of a row would hold the statement open, and no file is
        # rewritten while a statement is open.
        rows = list(reader.rows(f"SELECT {_COLUMNS} {FROM} WHERE {where}", params))
        return [(row[12], entry_of(row)) for row in rows]
    except JournalCorrupt:
        keys = list(reader.rows(f"SELECT e.space, e.seq {FROM} WHERE {where}", params))
        errors = _read_one_by_one(reader, [(row[0], row[1]) for row in keys])[1]
        if not errors:
            raise
        raise EntryCorrupt(str(next(iter(errors.values()))), errors) from None


def _read_one_by_one(
    reader: Reader, keys: Sequence[tuple[int, int]]
) -> tuple[list[Entry], dict[int, JournalCorrupt]]:
    """Return the sound entries of some spaces and rows, and the errors of the others by row.

    Bytes that are not UTF-8 fail while rows are fetched, before their row is known.
    """
    entries: list[Entry] = []
    errors: dict[int, JournalCorrupt] = {}
    for key in keys:
        try:
            row = reader.row(f"SELECT {_COLUMNS} {FROM} WHERE e.space = ? AND e.seq = ?", key)
        except JournalCorrupt:
            errors[key[1]] = damage.of_entry(_name_of_row(reader, key), "it cannot be read")
            continue
        try:
            if row is not None:
                entries.append(entry_of(row))
        except JournalCorrupt as error:
            errors[key[1]] = error
    return entries, errors


def _name_of_row(reader: Reader, key: tuple[int, int]) -> str:
    """Return the id of an entry whose row cannot be read, or else the number of the row."""
    with suppress(JournalCorrupt):
        sql = "SELECT CAST(id AS BLOB) FROM entry WHERE space = ? AND seq = ?"
        if row := reader.row(sql, key):
            return bytes(row[0]).decode(errors="replace")
    return f"in row {key[1]}"


def entry_of(row: Row) -> Entry:
    """The record of a row of ``_COLUMNS``. Raises JournalCorrupt if it is not what was stored."""
    identity, text, source, position, kind, added, at, speaker, role, session, metadata = row[:11]
    content = (text, kind, speaker, role, session, metadata, at)
    with damage.decoding_entry(identity):
        if row[11] != damage.digest(content, row[16]):
            raise damage.of_entry(identity, "its content is not what was stored")
        return Entry(
            id=damage.checked(str, identity),
            text=text,
            source=damage.checked(str, source),
            position=damage.checked(int, position),
            kind=kind,
            added=added_moment(added),
            at=None if at is None else moment(at, row[15]),
            speaker=speaker,
            role=role,
            session=session,
            metadata=metadata_of(metadata),
            expires=None if row[13] is None else moment(row[13]),
            pinned=bool(row[14]),
        )


def metadata_of(text: str) -> dict[str, JSON]:
    """Metadata as a mapping, from the JSON that is stored. Raises ValueError."""
    if text == "{}":
        return {}
    metadata: dict[str, JSON] = _decode(text)[0]
    return metadata


def cut(entry: Entry, span: tuple[int, int] | None) -> str:
    """Return the text of a fragment of an entry. Raise JournalCorrupt if the span is damaged."""
    with damage.decoding(f"the fragments of entry {entry.id!r}"):
        if span is None or not 0 <= span[0] < span[1] <= len(entry.text):
            raise ValueError(span)
        return entry.text[slice(*span)]


# ---------------------------------------------------------------------------- checks


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
    with database.read() as reader:
        spaces = [int(row[0]) for row in reader.rows("SELECT DISTINCT space FROM entry")]
    pages = ((each, seqs) for each in spaces for seqs in _pages(database, each))
    for space, seqs in pages:
        with database.read() as reader:
            wrong = _separate_damaged(reader, space, seqs)[1]
            findings += [f"{_space_prefix(reader, space)}{error}" for error in wrong.values()]
        done += len(seqs)
        if progress is not None:
            progress(done, max(total, done))
    return findings


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
    """Return the sound entries of a page, and the errors of the others by sequence number."""
    try:
        where = "e.space = ? AND e.seq BETWEEN ? AND ? ORDER BY e.seq"
        rows = read(reader, where, (space, seqs[0], seqs[-1]))
    except JournalCorrupt:
        return _read_one_by_one(reader, [(space, seq) for seq in seqs])
    within = set(seqs)
    return [entry for seq, entry in rows if seq in within], {}


def _space_prefix(reader: Reader, space: int) -> str:
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
