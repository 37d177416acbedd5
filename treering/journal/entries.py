"""The journal of entries, read: those of a filter, of a source, by number, id or digest."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

from treering.errors import EntryCorrupt, InputError, UnknownEntry
from treering.journal import damage, sources, stored
from treering.journal.contract import Reader
from treering.journal.fields import parse_time
from treering.journal.filters import compile_filter
from treering.journal.stored import micros as micros
from treering.journal.stored import moment as moment
from treering.journal.stored import read
from treering.records import Entry, Filter, When
from treering.text import check_text

OWN_SOURCES = "treering:"
"""The prefix of sources that treering itself writes to; no person said their entries."""

HISTORY = f"{OWN_SOURCES}history"
"""The source whose entries are corrections, in the hidden space of withheld entries."""

ANOTHER = "the index of ids leads to another entry"
PAGE = 500  # rows read at a time: no long read transaction keeps the WAL from shrinking
MAX_CURSOR_CHARS = 19  # of the highest sequence number there can be
LAST = 2**63 - 1  # no entry has this sequence number


def size(reader: Reader, space: int, name: str) -> int:
    """How many entries a source holds."""
    row = reader.row(
        "SELECT count(*) FROM entry e JOIN source s"
        " ON s.space = e.space AND s.id = e.source"
        " WHERE s.space = ? AND s.hash = ?",
        sources.key(space, name),
    )
    return int(row[0]) if row else 0


def places(reader: Reader, space: int, name: str) -> dict[tuple[int, bytes], int]:
    """The sequence numbers of a source's entries by position and digest."""
    rows = reader.rows(
        "SELECT e.position, e.digest, e.seq FROM entry e JOIN source s"
        " ON s.space = e.space AND s.id = e.source"
        " WHERE s.space = ? AND s.hash = ?",
        sources.key(space, name),
    )
    return {(int(row[0]), bytes(row[1])): int(row[2]) for row in rows}


def of_source(reader: Reader, space: int, name: str) -> list[int]:
    """The sequence numbers of the entries of a source, or of a document's parts."""
    identity = sources.name_hash(name)
    rows = reader.rows(
        "SELECT e.seq FROM entry e JOIN source s"
        " ON s.space = e.space AND s.id = e.source"
        " WHERE s.space = ? AND (s.hash = ? OR s.whole = ?) ORDER BY e.seq",
        (space, identity, identity),
    )
    return [int(row[0]) for row in rows]


def page(
    reader: Reader,
    space: int,
    condition: Filter,
    after: int = 0,
    limit: int = PAGE,
    *,
    newest: bool = False,
) -> list[tuple[int, Entry]]:
    """Entries that meet a filter, in the order they were added, each with its sequence number.

    With ``newest`` the newest come first.
    """
    where, params = compile_filter(condition, reader.dialect)
    edge, order = ("<", " DESC") if newest else (">", "")
    start = after or (LAST if newest else 0)
    return read(
        reader,
        f"e.space = ? AND e.seq {edge} ?{where} ORDER BY e.seq{order} LIMIT ?",
        (space, start, *params, limit),
    )


def after(cursor: str | None) -> int:
    """The sequence number that a page begins after. Raises InputError."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < MAX_CURSOR_CHARS):
        raise InputError(
            f"cursor is {cursor!r}; give the `next` of a page, or none", param="cursor"
        )
    return int(cursor)


def matching_ids(
    reader: Reader, space: int, condition: Filter, identities: Collection[str]
) -> list[int]:
    """The sequence numbers of the entries of some ids that meet a filter.

    Raises UnknownName for an id that is not there; that of a damaged entry is. Raises
    TextEncodingError for bytes that are not text.
    """
    for identity in identities:
        check_text(identity, "an id")
    seqs = _seq_by_id(reader, space, identities).values()
    return list(matching_seqs(reader, space, condition, seqs))


def _seq_by_id(reader: Reader, space: int, identities: Collection[str]) -> dict[str, int]:
    """Return the sequence numbers of ids.

    Raise UnknownEntry, and JournalCorrupt if the index of ids leads to another entry.
    """
    ids_listed = json.dumps(list(identities))
    rows = reader.rows(
        "SELECT id, seq FROM entry WHERE space = ? AND id IN (SELECT value FROM json_each(?))",
        (space, ids_listed),
    )
    seq_by_id = {str(row[0]): int(row[1]) for row in rows}
    for identity in identities:
        if identity not in seq_by_id:
            raise UnknownEntry(f"no entry {identity!r} in this space")
    # The index answers the first statement alone; this one reads the rows. An id that a row has and
    # no index knows is damaged, and the row is the right one.
    rows = reader.rows(
        "SELECT e.seq, o.id FROM entry e JOIN entry o ON o.space = e.space AND o.id = e.id"
        " WHERE e.space = ? AND e.seq IN (SELECT value FROM json_each(?))",
        (space, json.dumps(list(seq_by_id.values()))),
    )
    id_by_seq = {int(row[0]): str(row[1]) for row in rows}
    for identity, seq in seq_by_id.items():
        if id_by_seq.get(seq, identity) != identity:
            raise damage.of_entry(identity, ANOTHER)
    return seq_by_id


def matching_seqs(
    reader: Reader, space: int, condition: Filter, seqs: Collection[int] | None = None
) -> Iterator[int]:
    """The sequence numbers of the entries that meet a filter: of ``seqs``, or of all."""
    where, params = compile_filter(condition, reader.dialect, space)
    if seqs is not None:
        where += " AND e.seq IN (SELECT value FROM json_each(?))"
        params = [*params, json.dumps(list(seqs))]
    rows = reader.rows(
        f"SELECT e.seq {stored.FROM} WHERE e.space = ?{where} ORDER BY e.seq",
        (space, *params),
    )
    return (int(row[0]) for row in rows)


def seqs_of(reader: Reader, space: int, identities: Collection[str]) -> list[int]:
    """The sequence numbers of the ids that a space has."""
    rows = reader.rows(
        "SELECT seq FROM entry WHERE space = ? AND id IN (SELECT value FROM json_each(?))",
        (space, json.dumps(sorted(identities))),
    )
    return [int(row[0]) for row in rows]


def digests(reader: Reader, space: int, identities: Collection[str]) -> dict[str, bytes]:
    """The digests of the ids that a space has; a digest changes when its entry is rewritten."""
    rows = reader.rows(
        "SELECT id, digest FROM entry WHERE space = ? AND id IN (SELECT value FROM json_each(?))",
        (space, json.dumps(sorted(identities))),
    )
    return {str(row[0]): bytes(row[1]) for row in rows}


def tail(reader: Reader, space: int, source: str, limit: int) -> list[Entry]:
    """The last messages of a conversation, oldest first."""
    rows = read(
        reader,
        "s.space = ? AND s.hash = ? AND b.role IS NOT NULL ORDER BY e.position DESC LIMIT ?",
        (*sources.key(space, source), limit),
    )
    return [entry for _, entry in rows][::-1]


def exchange(reader: Reader, space: int, source: str, position: int, limit: int) -> list[int]:
    """The sequence numbers of the round of a conversation that holds the message at a position.

    A round is a user's message and what follows until the next one; at most ``limit`` messages.
    """
    rows = reader.rows(
        "SELECT e.seq, b.role, e.position FROM source s"
        " JOIN entry e ON e.space = s.space AND e.source = s.id JOIN body b ON b.id = e.body"
        " WHERE s.space = ? AND s.hash = ? AND e.position BETWEEN ? AND ? ORDER BY e.position",
        (*sources.key(space, source), position - limit, position + limit),
    )
    # Each user message before the position begins a new round, so the last one before it stays.
    round_: list[int] = []
    for seq, role, place in rows:
        if role == "user":
            if place > position:
                break
            round_ = []
        round_.append(int(seq))
    return round_[:limit]


def identities(reader: Reader, seqs: Collection[int]) -> list[str]:
    """Return the ids of entries, in the order of their sequence numbers."""
    rows = reader.rows(
        "SELECT id FROM entry WHERE space = ? AND seq IN (SELECT value FROM json_each(?))"
        " ORDER BY seq",
        (reader.space, _json_list(seqs)),
    )
    return [str(row[0]) for row in rows]


def _json_list(seqs: Collection[int]) -> str:
    return json.dumps(sorted(set(seqs)))


def by_seq(reader: Reader, seqs: Collection[int]) -> dict[int, Entry]:
    """Return entries by sequence number, without those that have gone."""
    where = "e.space = ? AND e.seq IN (SELECT value FROM json_each(?)) ORDER BY e.seq"
    return dict(read(reader, where, (reader.space, _json_list(seqs)))) if seqs else {}


def beginnings(reader: Reader, seqs: Collection[int], size: int) -> dict[int, str]:
    """The first characters of entries, ``size`` of each, by sequence number; of damaged ones as far
    as they can be read.
    """
    rows = reader.rows(
        "SELECT o.seq, CAST(o.said AS BLOB) FROM"
        " (SELECT e.seq, substr(b.text, 1, CAST(? AS INTEGER)) AS said"
        " FROM entry e JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND e.seq IN (SELECT value FROM json_each(?))) o",
        (size, reader.space, json.dumps(sorted(set(seqs)))),
    )
    return {int(row[0]): bytes(row[1]).decode(errors="ignore") for row in rows}


def within(reader: Reader, seqs: Sequence[int], size: int) -> list[int]:
    """The first of some entries, as many as have ``size`` bytes of text together; one at least."""
    total, first = 0, list[int]()
    page = list(seqs[:1])
    while page:
        sizes = _text_bytes(reader, page) if len(seqs) > 1 else {}
        for seq in page:
            total += sizes.get(seq, 0)
            if first and total > size:
                return first
            first.append(seq)
        # The database reads a text to know its length, so ask for twice as many as fit so far.
        page = list(seqs[len(first) : 2 * len(first)])
    return first


def text_bytes_after(reader: Reader, seq: int) -> int:
    """The bytes of the texts of all entries after a sequence number."""
    row = reader.row(
        "SELECT coalesce(sum(length(CAST(b.text AS BLOB))), 0) FROM entry e"
        " JOIN body b ON b.id = e.body WHERE e.space = ? AND e.seq > ?",
        (reader.space, seq),
    )
    return int(row[0]) if row else 0


def _text_bytes(reader: Reader, seqs: Sequence[int]) -> dict[int, int]:
    """The bytes of the texts of entries, by sequence number."""
    rows = reader.rows(
        "SELECT e.seq, length(CAST(b.text AS BLOB)) FROM entry e JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND e.seq IN (SELECT value FROM json_each(?))",
        (reader.space, json.dumps(list(seqs))),
    )
    return {int(row[0]): int(row[1]) for row in rows}


def digests_by_seq(reader: Reader, seqs: Sequence[int]) -> dict[int, bytes]:
    """Return the stored digests of entries by sequence number, without entries that have gone.

    A digest changes when its entry is rewritten.
    """
    rows = reader.rows(
        "SELECT seq, digest FROM entry WHERE space = ? AND seq IN (SELECT value FROM json_each(?))",
        (reader.space, json.dumps(list(seqs))),
    )
    return {int(row[0]): bytes(row[1]) for row in rows}


def there(reader: Reader, seqs: Sequence[int]) -> dict[int, Entry]:
    """Entries by sequence number that other rows refer to. Raises EntryCorrupt if one is gone."""
    entry_by_seq = by_seq(reader, seqs)
    if missing := set(seqs) - entry_by_seq.keys():
        raise EntryCorrupt(f"the entry in row {min(missing)} is missing. {damage.HELP}", missing)
    return entry_by_seq


def has_digest(reader: Reader, seq: int, digest: bytes) -> bool:
    """Whether another entry of the same source has that content."""
    row = reader.row(
        "SELECT 1 FROM entry e"
        " JOIN entry o ON o.space = e.space AND o.source = e.source AND o.digest = ?"
        " WHERE e.space = ? AND e.seq = ? AND o.seq <> e.seq",
        (digest, reader.space, seq),
    )
    return row is not None


def id_of_digest(reader: Reader, source: int, digest: bytes) -> str | None:
    """The id of the entry of a source that has that content."""
    row = reader.row(
        "SELECT id FROM entry WHERE space = ? AND source = ? AND digest = ?",
        (reader.space, source, digest),
    )
    return None if row is None else str(row[0])


def find(reader: Reader, space: int, identity: str) -> tuple[int, Entry]:
    """The sequence number and entry of an id. Raises UnknownName."""
    # By number: a row found by its id has its id from the index, even if that leads to another row.
    rows = read(reader, "e.space = ? AND e.seq = ?", (space, seq_of(reader, space, identity)))
    if not rows or rows[0][1].id != identity:
        raise damage.of_entry(identity, ANOTHER)
    return rows[0]


def seq_of(reader: Reader, space: int, identity: str) -> int:
    """The sequence number of an id, even of a damaged entry. Raises UnknownName."""
    return _seq_by_id(reader, space, [identity])[identity]


def count(reader: Reader, table: str, space: int) -> int:
    """How many rows of a table a space has."""
    row = reader.row(f"SELECT count(*) FROM {table} WHERE space = ?", (space,))
    return int(row[0]) if row else 0


def expired_seqs(reader: Reader, space: int) -> list[int]:
    """Return the sequence numbers of the entries whose time to expire has come."""
    rows = reader.rows(
        "SELECT seq FROM entry WHERE space = ? AND expires <= ? ORDER BY seq",
        (space, micros(datetime.now(UTC))),
    )
    return [int(row[0]) for row in rows]


def pinned_seqs(reader: Reader, space: int) -> list[int]:
    """The sequence numbers of the entries that are pinned."""
    rows = reader.rows("SELECT seq FROM entry WHERE space = ? AND pinned ORDER BY seq", (space,))
    return [int(row[0]) for row in rows]


def of_role(reader: Reader, space: int, role: str) -> list[int]:
    """The sequence numbers of the messages of a role, such as ``user``."""
    rows = reader.rows(
        "SELECT e.seq FROM entry e JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND b.role = ? ORDER BY e.seq",
        (space, role),
    )
    return [int(row[0]) for row in rows]


def micros_of(as_of: When) -> int | None:
    """Return ``micros`` of a time that a caller gives; None for None. Raise InputError."""
    return None if as_of is None else micros(parse_time(as_of, "as_of"))
