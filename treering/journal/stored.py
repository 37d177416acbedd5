"""Entries as rows of the database: read, compared with their digests, and named if damaged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from treering.errors import EntryCorrupt, JournalCorrupt
from treering.journal import damage
from treering.journal.contract import Reader, Row, Value
from treering.records import JSON, Entry

_decode = json.JSONDecoder().raw_decode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS = (
    "e.id, b.text, n.text, e.position, e.kind, e.added, e.at, b.speaker, b.role, b.session, "
    "b.metadata, e.digest, e.seq, e.expires, e.pinned, e.zone"
)
# LEFT: an entry whose source or body is damaged is an error, not absent.
FROM = (
    "FROM entry e LEFT JOIN body b ON b.id = e.body"
    " LEFT JOIN source s ON s.space = e.space AND s.id = e.source"
    " LEFT JOIN label n ON n.id = s.name"
)
"""An entry ``e`` with what it says ``b``, its source ``s`` and the name of that ``n.text``."""


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
    """The entries that meet conditions, each with its sequence number.

    Raises EntryCorrupt if some are damaged: it names the first and has the rows of all.
    """
    try:
        # Fetched before they are decoded: an error of one row, for as long as somebody holds it,
        # would hold the statement open, and no file is rewritten while one is.
        rows = list(reader.rows(f"SELECT {_COLUMNS} {FROM} WHERE {where}", params))
        return [(row[12], entry_of(row)) for row in rows]
    except JournalCorrupt:
        keys = reader.rows(f"SELECT e.space, e.seq {FROM} WHERE {where}", params)
        errors = _damaged(reader, [(row[0], row[1]) for row in keys])
        if not errors:
            raise
        raise EntryCorrupt(str(next(iter(errors.values()))), errors) from None


def _damaged(reader: Reader, keys: Sequence[tuple[int, int]]) -> dict[int, JournalCorrupt]:
    """What is wrong, by sequence number, with the entries that are not as they were stored.

    Each is named by its space and its number. Bytes that are not UTF-8 fail while rows are fetched,
    before their row is known.
    """
    errors: dict[int, JournalCorrupt] = {}
    for key in keys:
        try:
            row = reader.row(f"SELECT {_COLUMNS} {FROM} WHERE e.space = ? AND e.seq = ?", key)
        except JournalCorrupt:
            id_row = reader.row(
                "SELECT CAST(id AS BLOB) FROM entry WHERE space = ? AND seq = ?", key
            )
            name = bytes(id_row[0]).decode(errors="replace") if id_row else f"in row {key[1]}"
            errors[key[1]] = damage.of_entry(name, "it cannot be read")
            continue
        try:
            if row is not None:
                entry_of(row)
        except JournalCorrupt as error:
            errors[key[1]] = error
    return errors


def entry_of(row: Row) -> Entry:
    """The record of a row of ``_COLUMNS``. Raises JournalCorrupt if it is not what was stored."""
    identity, text, source, position, kind, added, at, speaker, role, session, metadata = row[:11]
    content = (text, kind, speaker, role, session, metadata, at)
    with damage.decoding_entry(identity):
        if not damage.is_content(row[11], content, identity, row[12]):
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
    """The text of a fragment of an entry. Raises JournalCorrupt if that has no such place."""
    with damage.decoding(f"the fragments of entry {entry.id!r}"):
        if span is None or not 0 <= span[0] < span[1] <= len(entry.text):
            raise ValueError(span)
        return entry.text[slice(*span)]
