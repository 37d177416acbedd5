"""The journal of entries: append, read, replace and erase them in a Database."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

import numpy as np

from treering.arrays import Codes
from treering.errors import EntryCorrupt, FilterError, InputError, UnknownName
from treering.journal import damage, labels, stored, supersession
from treering.journal.conditions import metadata_clause
from treering.journal.contract import Reader, Value, Writer
from treering.journal.dialect import Dialect
from treering.journal.sources import named, source_clause
from treering.journal.stored import micros as micros
from treering.journal.stored import moment as moment
from treering.journal.stored import read
from treering.records import KINDS, Entry, Filter, Kind

OWN_SOURCES = "treering:"
"""The prefix of sources that treering itself writes to; what they hold was said by nobody."""

PAGE = 500  # rows read at a time: no long read transaction keeps the WAL from shrinking
MAX_CURSOR_CHARS = 19  # of the highest sequence number there can be


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before it has an id and a place: what ``append`` takes.

    ``key`` tells apart drafts of one source that are otherwise equal (the n-th "ok" of a chat).
    """

    text: str
    kind: Kind
    at: datetime | None = None
    speaker: str | None = None
    role: str | None = None
    session: str | None = None
    metadata: str = "{}"
    key: str = ""
    id: str | None = None
    position: int | None = None
    added: datetime | None = None
    expires: datetime | None = None
    pinned: bool = False

    def digest(self) -> bytes:
        """The identity of this content within its source."""
        content = (self.text, self.kind, self.speaker, self.role, self.session, self.metadata)
        return damage.digest((*content, micros(self.at) if self.at else None), self.key)


@dataclass(frozen=True, slots=True)
class AppendResult:
    """The result of ``append``: the ids of new entries, and how many were there already."""

    ids: list[str]
    unchanged: int


def size(reader: Reader, space: int, name: str) -> int:
    """How many entries a source holds."""
    row = reader.row(
        "SELECT count(*) FROM entry e JOIN source s"
        " ON s.space = e.space AND s.id = e.source"
        " WHERE s.space = ? AND s.hash = ?",
        named(space, name),
    )
    return int(row[0]) if row else 0


def places(reader: Reader, space: int, name: str) -> dict[tuple[int, bytes], int]:
    """The sequence numbers of a source's entries by position and digest."""
    rows = reader.rows(
        "SELECT e.position, e.digest, e.seq FROM entry e JOIN source s"
        " ON s.space = e.space AND s.id = e.source"
        " WHERE s.space = ? AND s.hash = ?",
        named(space, name),
    )
    return {(int(row[0]), bytes(row[1])): int(row[2]) for row in rows}


def of_source(reader: Reader, space: int, name: str) -> list[int]:
    """The sequence numbers of the entries of a source, or of a document's parts."""
    identity = labels.hash_of(name)
    rows = reader.rows(
        "SELECT e.seq FROM entry e JOIN source s"
        " ON s.space = e.space AND s.id = e.source"
        " WHERE s.space = ? AND (s.hash = ? OR s.whole = ?) ORDER BY e.seq",
        (space, identity, identity),
    )
    return [int(row[0]) for row in rows]


def append(
    writer: Writer, space: int, source: int, drafts: Iterable[Draft], queue: str | None = None
) -> AppendResult:
    """Append drafts to a source. ``queue`` names the view that has work to do on each new entry.

    A draft whose content the source already holds is skipped and counted as unchanged.
    """
    now = micros(datetime.now(UTC))
    row = writer.row(
        "SELECT coalesce(max(position) + 1, 0) FROM entry WHERE space = ? AND source = ?",
        (space, source),
    )
    assert row is not None  # an aggregate always has a row
    position = int(row[0])
    drafts = list(drafts)
    there = _There.of(writer, space, source, drafts)
    new: list[_NewEntry] = []
    for draft, digest in zip(drafts, there.drafted, strict=True):
        if not there.has(draft, digest):
            place = position if draft.position is None else draft.position
            new.append(_NewEntry(draft, digest, draft.id or secrets.token_hex(8), place))
            there.add(draft, digest)
            position = max(position, place + 1)
    seqs = _insert(writer, space, source, new, now)
    if queue is not None:
        writer.many(
            "INSERT INTO work (space, view, target) VALUES (?, ?, ?)",
            ((space, queue, seq) for seq in seqs),
        )
    return AppendResult([entry.id for entry in new], len(drafts) - len(new))


@dataclass(frozen=True, slots=True)
class _NewEntry:
    """A draft that becomes an entry, with its digest, id and position."""

    draft: Draft
    digest: bytes
    id: str
    position: int


@dataclass(frozen=True, slots=True)
class _There:
    """What a source and its space hold of some drafts, of which ``drafted`` are the digests.

    ``texts`` are those of the drafts' own ids: an import gives ids, and such an id may also stand
    for another text here.
    """

    drafted: list[bytes]
    digests: set[bytes]
    texts: dict[str, str | None]

    @classmethod
    def of(cls, reader: Reader, space: int, source: int, drafts: Sequence[Draft]) -> Self:
        drafted = [draft.digest() for draft in drafts]
        digests: set[bytes] = set()
        for start in range(0, len(drafted), PAGE):
            chunk = drafted[start : start + PAGE]
            rows = reader.rows(
                "SELECT digest FROM entry WHERE space = ? AND source = ?"
                f" AND digest IN ({', '.join('?' * len(chunk))})",
                (space, source, *chunk),
            )
            digests.update(bytes(row[0]) for row in rows)
        identities = [draft.id for draft in drafts if draft.id is not None]
        return cls(drafted, digests, _texts_by_id(reader, space, identities))

    def has(self, draft: Draft, digest: bytes) -> bool:
        """Whether the source holds the content, or the space the id. Raises InputError."""
        # The id first: one that stands for another text is refused whatever the source holds.
        return (draft.id in self.texts and _is_same(draft, self.texts)) or digest in self.digests

    def add(self, draft: Draft, digest: bytes) -> None:
        """Note that a draft is there from now on."""
        self.digests.add(digest)
        if draft.id is not None:
            self.texts[draft.id] = draft.text


def _insert(
    writer: Writer, space: int, source: int, new: Sequence[_NewEntry], now: int
) -> list[int]:
    """Store new entries; their sequence numbers."""
    bodies = writer.insert_many(_BODY, [_body(entry.draft) for entry in new])
    return writer.insert_many(
        "INSERT INTO entry (space, id, source, position, digest, kind, at, added, body, expires,"
        " pinned) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(space, entry.id, source, entry.position, entry.digest, entry.draft.kind),
                micros(entry.draft.at) if entry.draft.at else None,
                micros(entry.draft.added) if entry.draft.added else now,
                body,
                micros(entry.draft.expires) if entry.draft.expires else None,
                entry.draft.pinned,
            )
            for entry, body in zip(new, bodies, strict=True)
        ],
    )


def refuse_other_content(reader: Reader, space: int, drafts: Sequence[Draft]) -> None:
    """Raise InputError if the id of a draft is here with another text."""
    texts = _texts_by_id(reader, space, [draft.id for draft in drafts if draft.id is not None])
    for draft in drafts:
        if draft.id in texts:
            _is_same(draft, texts)


def _texts_by_id(reader: Reader, space: int, identities: Collection[str]) -> dict[str, str | None]:
    """The texts of the ids that a space has, by id; None where what it says is missing."""
    if not identities:
        return {}
    rows = reader.rows(
        "SELECT e.id, b.text FROM entry e LEFT JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND e.id IN (SELECT value FROM json_each(?))",
        (space, json.dumps(sorted(identities))),
    )
    return {str(row[0]): row[1] for row in rows}


def _is_same(draft: Draft, texts: Mapping[str, str | None]) -> bool:
    """True, as the id of a draft that is here stands for its text. Raises InputError if not."""
    if draft.id is not None and texts[draft.id] != draft.text:
        raise InputError(
            f"entry {draft.id!r} is in this space already, with another text; "
            "import into an empty space, or forget that entry first"
        )
    return True


_BODY = "INSERT INTO body (text, speaker, role, session, metadata) VALUES (?, ?, ?, ?, ?)"


def _body(draft: Draft) -> tuple[Value, ...]:
    return draft.text, draft.speaker, draft.role, draft.session, draft.metadata


def _blank_bodies(writer: Writer, seqs: Iterable[int]) -> None:
    space = writer.space
    sql = "SELECT body FROM entry WHERE space = ? AND seq = ?"
    rows = (writer.row(sql, (space, seq)) for seq in seqs)
    bodies = [int(row[0]) for row in rows if row is not None]
    writer.blank("body", ("text", "speaker", "role", "session", "metadata"), space, bodies)


def page(
    reader: Reader, space: int, condition: Filter, after: int = 0, limit: int = PAGE
) -> list[tuple[int, Entry]]:
    """Entries that meet a filter, in the order they were added, each with its sequence number."""
    where, params = compile_filter(condition, reader.dialect)
    return read(
        reader,
        f"e.space = ? AND e.seq > ?{where} ORDER BY e.seq LIMIT ?",
        (space, after, *params, limit),
    )


def newest(reader: Reader, space: int, limit: int) -> list[tuple[int, Entry]]:
    """The entries that were added last, in the order they were added, with sequence numbers."""
    return read(reader, "e.space = ? ORDER BY e.seq DESC LIMIT ?", (space, limit))[::-1]


def after(cursor: str | None) -> int:
    """The sequence number that a page begins after. Raises InputError."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < MAX_CURSOR_CHARS):
        raise InputError(f"cursor is {cursor!r}; give the `next` of a page, or none")
    return int(cursor)


def matching(
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


def metadata_values(
    reader: Reader, space: int, key: str, first: int, last: int
) -> Iterator[tuple[str, Value, Codes]]:
    """Kind and value of the entries that have a key in their metadata, and which have each, (n,).

    They are those from one sequence number to another. The database says what a value is, as in a
    filter, and sorts entries by it: many have one value, mostly.
    """
    rows = reader.rows(
        f"SELECT {reader.dialect.kind_and_value('m')}, {reader.dialect.joined('e.seq')}"
        f" FROM entry e JOIN body b ON b.id = e.body, {reader.dialect.members('b.metadata', 'm')}"
        " WHERE e.space = ? AND m.key = ? AND e.seq BETWEEN ? AND ? GROUP BY 1, 2",
        (space, key, first, last),
    )
    return (
        (str(kind), value, np.fromstring(seqs, np.int64, sep=",")) for kind, value, seqs in rows
    )


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
        (*named(space, source), limit),
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
        (*named(space, source), position - limit, position + limit),
    )
    # Each user message before the position begins the round anew, so the last one before it stays.
    round_: list[int] = []
    for seq, role, place in rows:
        if role == "user":
            if place > position:
                break
            round_ = []
        round_.append(int(seq))
    return round_[:limit]


def identities(reader: Reader, seqs: Sequence[int]) -> list[str]:
    """The ids of entries."""
    sql, space = "SELECT id FROM entry WHERE space = ? AND seq = ?", reader.space
    rows = (reader.row(sql, (space, seq)) for seq in seqs)
    return [str(row[0]) for row in rows if row is not None]


def by_seq(reader: Reader, seqs: Sequence[int]) -> dict[int, Entry]:
    """Entries by sequence number; those that have gone are left out."""
    entry_by_seq: dict[int, Entry] = {}
    unique = sorted(set(seqs))
    for start in range(0, len(unique), PAGE):
        chunk = unique[start : start + PAGE]
        marks = ", ".join("?" * len(chunk))
        entry_by_seq.update(
            read(reader, f"e.space = ? AND e.seq IN ({marks})", (reader.space, *chunk))
        )
    return entry_by_seq


def beginnings(
    reader: Reader, seqs: Sequence[int], size: int, role: str | None = None
) -> dict[int, str]:
    """The first characters of entries, ``size`` of each, by sequence number; of one role, if it is
    given. Damaged ones are read as far as they can be.
    """
    of_role = "" if role is None else " AND b.role = ?"
    rows = reader.rows(
        "SELECT o.seq, CAST(o.said AS BLOB) FROM"
        " (SELECT e.seq, substr(b.text, 1, CAST(? AS INTEGER)) AS said"
        " FROM entry e JOIN body b ON b.id = e.body"
        f" WHERE e.space = ? AND e.seq IN (SELECT value FROM json_each(?)){of_role}) o",
        (size, reader.space, json.dumps(sorted(set(seqs))), *([] if role is None else [role])),
    )
    return {int(row[0]): bytes(row[1]).decode(errors="ignore") for row in rows}


def endings(reader: Reader, seqs: Collection[int], size: int) -> dict[int, str]:
    """The last characters of entries, ``size`` of each, by sequence number; of damaged ones as far
    as they can be read.
    """
    rows = reader.rows(
        "SELECT o.seq, CAST(o.said AS BLOB) FROM"
        " (SELECT e.seq, CASE WHEN length(b.text) > CAST(? AS INTEGER)"
        " THEN substr(b.text, length(b.text) - CAST(? AS INTEGER) + 1) ELSE b.text END AS said"
        " FROM entry e JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND e.seq IN (SELECT value FROM json_each(?))) o",
        (size, size, reader.space, json.dumps(sorted(set(seqs)))),
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
        # The database reads a text to know its length: of no more than twice what is taken.
        page = list(seqs[len(first) : 2 * len(first)])
    return first


def _text_bytes(reader: Reader, seqs: Sequence[int]) -> dict[int, int]:
    """The bytes of the texts of entries, by sequence number."""
    rows = reader.rows(
        "SELECT e.seq, length(CAST(b.text AS BLOB)) FROM entry e JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND e.seq IN (SELECT value FROM json_each(?))",
        (reader.space, json.dumps(list(seqs))),
    )
    return {int(row[0]): int(row[1]) for row in rows}


def digests_by_seq(reader: Reader, seqs: Sequence[int]) -> dict[int, bytes]:
    """The digests of entries by sequence number, not compared with what they are of; those that
    have gone are left out. A digest changes when its entry is rewritten.
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


def rewrite(writer: Writer, seq: int, draft: Draft) -> None:
    """Give an entry another content; its id, source and position stay."""
    _blank_bodies(writer, [seq])
    at = micros(draft.at) if draft.at else None
    writer.execute(
        "UPDATE entry SET digest = ?, kind = ?, at = ?, body = ? WHERE space = ? AND seq = ?",
        (draft.digest(), draft.kind, at, writer.insert(_BODY, _body(draft)), writer.space, seq),
    )


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
    rows = read(reader, "e.space = ? AND e.id = ?", (space, identity))
    if not rows:
        raise UnknownName(f"no entry {identity!r} in this space; `treering list` shows the ids")
    if rows[0][1].id != identity:  # the index of the ids and the entry disagree
        raise damage.of_entry(identity, "it has another id")
    return rows[0]


def seq_of(reader: Reader, space: int, identity: str) -> int:
    """The sequence number of an id, even of a damaged entry. Raises UnknownName."""
    row = reader.row("SELECT seq FROM entry WHERE space = ? AND id = ?", (space, identity))
    if row is None:
        raise UnknownName(f"no entry {identity!r} in this space; `treering list` shows the ids")
    return int(row[0])


def count(reader: Reader, table: str, space: int) -> int:
    """How many rows of ``entry`` or ``source`` a space has."""
    row = reader.row(f"SELECT count(*) FROM {table} WHERE space = ?", (space,))
    return int(row[0]) if row else 0


def erase(writer: Writer, seqs: Sequence[int]) -> None:
    """Delete entries; their derived rows must have gone before. What they said is overwritten."""
    supersession.erase(writer, seqs)
    _blank_bodies(writer, seqs)
    space = writer.space
    writer.many("DELETE FROM entry WHERE space = ? AND seq = ?", ((space, seq) for seq in seqs))


def expired(reader: Reader, space: int) -> list[int]:
    """The sequence numbers of the entries that are not to be kept any longer."""
    rows = reader.rows(
        "SELECT seq FROM entry WHERE space = ? AND expires <= ? ORDER BY seq",
        (space, micros(datetime.now(UTC))),
    )
    return [int(row[0]) for row in rows]


def pinned(reader: Reader, space: int) -> list[int]:
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


def set_pinned(writer: Writer, seq: int, pinned: bool) -> None:
    """Pin an entry, or pin it no longer."""
    writer.execute(
        "UPDATE entry SET pinned = ? WHERE space = ? AND seq = ?", (pinned, writer.space, seq)
    )


def compile_filter(
    condition: Filter, dialect: Dialect, space: int | None = None
) -> tuple[str, list[Value]]:
    """A filter as SQL conditions on the tables of ``stored.FROM``, each starting with AND.

    With a ``space`` the entries of a source are looked up by its number. Without one entries are
    looked at one after the other, in which order a page of them is found without sorting.

    Raises FilterError for a condition that cannot mean anything.
    """
    if condition.kind is not None and condition.kind not in KINDS:
        raise FilterError(f"kind is {condition.kind!r}; it can be {', '.join(KINDS)}")
    since = micros(condition.since) if condition.since else None
    until = micros(condition.until) if condition.until else None
    if since is not None and until is not None and since >= until:
        raise FilterError(f"since ({condition.since}) must be before until ({condition.until})")
    columns: list[tuple[str, Value]] = [
        ("b.speaker = ?", condition.speaker),
        ("b.session = ?", condition.session),
        ("e.kind = ?", condition.kind),
        ("e.at >= ?", since),
        ("e.at < ?", until),
        ("coalesce(e.at, e.added) <= ?", micros(condition.as_of) if condition.as_of else None),
        ("(e.expires IS NULL OR e.expires > ?)", micros(datetime.now(UTC))),
    ]
    clauses: list[tuple[str, list[Value]]] = [
        (clause, [value]) for clause, value in columns if value is not None
    ]
    if condition.source is not None:
        clause, params = source_clause(condition.source)
        if space is not None:
            clause = f"e.source IN (SELECT s.id FROM source s WHERE s.space = ? AND {clause})"
            params = [space, *params]
        clauses.append((clause, params))
    clauses += [metadata_clause(dialect, key, value) for key, value in condition.metadata.items()]
    if condition.omit:
        listed = json.dumps(sorted(condition.omit))
        clauses.append(("e.id NOT IN (SELECT value FROM json_each(?))", [listed]))
    sql = "".join(f" AND {clause}" for clause, _ in clauses)
    return sql, [param for _, params in clauses for param in params]
