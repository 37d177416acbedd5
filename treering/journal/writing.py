"""The journal of entries, written: drafts appended, entries rewritten, pinned and erased."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from treering.errors import InputError
from treering.journal import damage, supersession
from treering.journal.contract import Reader, Value, Writer
from treering.journal.entries import PAGE, seqs_of
from treering.journal.fields import metadata_json
from treering.journal.ledger import Size, count_size
from treering.journal.stored import micros, zone_minutes
from treering.records import Entry, Kind

if TYPE_CHECKING:
    from treering.journal.space import SpaceWriter

_ASSISTANT = "assistant"
_ID_BITS = 48
"""Of the part of an id that begins by chance; its first bit leaves room to count on. So two who add
to a space in the same millisecond give the same id once in some 10¹⁴ times, and one is refused."""


class Draft(NamedTuple):
    """An entry before it has an id and a place.

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

    @classmethod
    def from_entry(cls, entry: Entry, key: str) -> Draft:
        """Return the draft that makes an equal entry elsewhere."""
        return cls(
            *(entry.text, entry.kind, entry.at, entry.speaker, entry.role, entry.session),
            *(metadata_json(entry.metadata), key, entry.id, entry.position, entry.added),
            *(entry.expires, entry.pinned),
        )

    def digest(self) -> bytes:
        """The identity of this content within its source."""
        at = None if self.at is None else micros(self.at)
        content = (self.text, self.kind, self.speaker, self.role, self.session, self.metadata, at)
        return damage.digest(content, self.key)


class NewEntry(NamedTuple):
    """A draft that becomes an entry; ``added`` is in microseconds since the epoch."""

    draft: Draft
    digest: bytes
    id: str
    position: int
    added: int


@dataclass(frozen=True, slots=True)
class AppendResult:
    """The result of ``append``: new entries by sequence number, and how many were there already."""

    new: Mapping[int, NewEntry]
    unchanged: int

    @property
    def ids(self) -> list[str]:
        """The ids of new entries."""
        return [entry.id for entry in self.new.values()]


def append(
    writer: SpaceWriter,
    space: int,
    source: int,
    drafts: Iterable[Draft],
    queue: str | None = None,
    *,
    is_checked: bool = True,
) -> AppendResult:
    """Append drafts to a source. ``queue`` names the view that has work to do on each new entry.

    A draft whose content the source already holds is skipped and counted as unchanged. Raise
    QuotaExceeded without room in the space, if that ``is_checked``.
    """
    now = micros(datetime.now(UTC))
    ids = _new_ids(now)
    row = writer.row(
        "SELECT max(position) FROM entry WHERE space = ? AND source = ?", (space, source)
    )
    assert row is not None  # an aggregate always has a row
    position = 0 if row[0] is None else int(row[0]) + 1
    drafts = list(drafts)
    digests = [draft.digest() for draft in drafts]
    known = set() if row[0] is None else _known_digests(writer, space, source, digests)
    text_by_id = _texts_by_id(writer, space, drafts)
    new: list[NewEntry] = []
    for draft, digest in zip(drafts, digests, strict=True):
        # The id first: one that has another text is refused whatever the source holds.
        if draft.id in text_by_id:
            if text_by_id[draft.id] != draft.text:
                raise InputError(
                    f"entry {draft.id!r} is in this space already, with another text; "
                    "import into an empty space, or forget that entry first"
                )
        elif digest not in known:
            place = position if draft.position is None else draft.position
            added = micros(draft.added) if draft.added else now
            new.append(NewEntry(draft, digest, draft.id or next(ids), place, added))
            position = max(position, place + 1)
            known.add(digest)
            if draft.id is not None:
                text_by_id[draft.id] = draft.text
    size = Size.measure(entry.draft for entry in new)
    if is_checked:
        writer.quota.ensure_room(writer, size)
    seqs = _insert(writer, space, source, new)
    count_size(writer, size, sum(entry.draft.role == _ASSISTANT for entry in new))
    if queue is not None:
        writer.many(
            "INSERT INTO work (space, view, target) VALUES (?, ?, ?)",
            ((space, queue, seq) for seq in seqs),
        )
    return AppendResult(dict(zip(seqs, new, strict=True)), len(drafts) - len(new))


def _new_ids(now: int) -> Iterator[str]:
    """Generate new ids: the time in milliseconds, then a number with a random begin.

    Ids ascend with time, like those of UUID version 7, so the index of ids grows at its end: random
    ones would write a page of it for each entry.
    """
    first = secrets.randbits(_ID_BITS - 1)
    return (f"{now // 1000:012x}{number:012x}" for number in itertools.count(first))


def _known_digests(reader: Reader, space: int, source: int, digests: Sequence[bytes]) -> set[bytes]:
    """Return the digests that a source holds."""
    known: set[bytes] = set()
    for start in range(0, len(digests), PAGE):
        chunk = digests[start : start + PAGE]
        rows = reader.rows(
            "SELECT digest FROM entry WHERE space = ? AND source = ?"
            f" AND digest IN ({', '.join('?' * len(chunk))})",
            (space, source, *chunk),
        )
        known.update(bytes(row[0]) for row in rows)
    return known


def _insert(writer: Writer, space: int, source: int, new: Sequence[NewEntry]) -> Sequence[int]:
    """Store new entries; their sequence numbers."""
    bodies = writer.insert_many(_BODY, [_body(entry.draft) for entry in new])
    return writer.insert_many(
        "INSERT INTO entry (space, id, source, position, digest, kind, at, added, body, expires,"
        " pinned, zone, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
        [
            (
                *(space, entry.id, source, entry.position, entry.digest, entry.draft.kind),
                micros(entry.draft.at) if entry.draft.at else None,
                *(entry.added, body),
                micros(entry.draft.expires) if entry.draft.expires else None,
                *(entry.draft.pinned, zone_minutes(entry.draft.at), entry.draft.key),
            )
            for entry, body in zip(new, bodies, strict=True)
        ],
    )


def _texts_by_id(
    reader: Reader, space: int, drafts: Sequence[Draft]
) -> dict[str | None, str | None]:
    """Return the texts of the ids of drafts that a space has; None where a text is missing."""
    ids = sorted({draft.id for draft in drafts if draft.id is not None})
    if not ids:
        return {}
    rows = reader.rows(
        "SELECT e.id, b.text FROM entry e LEFT JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND e.id IN (SELECT value FROM json_each(?))",
        (space, json.dumps(ids)),
    )
    return {str(row[0]): row[1] for row in rows}


_BODY = (
    "INSERT INTO body (text, speaker, role, session, metadata) VALUES (?, ?, ?, ?, ?) RETURNING id"
)


def _body(draft: Draft) -> tuple[Value, ...]:
    return draft.text, draft.speaker, draft.role, draft.session, draft.metadata


def rewrite(writer: SpaceWriter, seq: int, draft: Draft, *, is_checked: bool) -> None:
    """Give an entry another content; its id, source and position stay.

    Raise QuotaExceeded without room in the space, if that ``is_checked``.
    """
    older = sum(entry.bytes for entry in _blank_bodies(writer, [seq]).values())
    more = Size(0, Size.measure([draft]).bytes - older)
    if is_checked:
        writer.quota.ensure_room(writer, more)
    count_size(writer, more)
    at = micros(draft.at) if draft.at else None
    writer.execute(
        "UPDATE entry SET digest = ?, key = ?, kind = ?, at = ?, zone = ?, body = ?"
        " WHERE space = ? AND seq = ?",
        (
            *(draft.digest(), draft.key, draft.kind, at, zone_minutes(draft.at)),
            *(*writer.insert_many(_BODY, [_body(draft)]), writer.space, seq),
        ),
    )


def set_pinned(writer: Writer, seq: int, pinned: bool) -> None:
    """Pin an entry, or pin it no longer."""
    writer.execute(
        "UPDATE entry SET pinned = ? WHERE space = ? AND seq = ?", (pinned, writer.space, seq)
    )


@dataclass(frozen=True, slots=True)
class ErasedEntry:
    """An erased entry: its id, the number of its source, the path of its file, its role and size.

    ``bytes`` are those of its text and metadata.
    """

    id: str
    source: int
    path: str | None
    role: str | None
    bytes: int


def erase(writer: Writer, seqs: Sequence[int]) -> list[ErasedEntry]:
    """Delete entries and overwrite their bodies; their derived rows must be gone already.

    Return the entries that existed.
    """
    if not seqs:
        return []
    space = writer.space
    supersession.erase(writer, seqs)
    erased = _blank_bodies(writer, seqs)
    gone = Size(-len(erased), -sum(entry.bytes for entry in erased.values()))
    count_size(writer, gone, -sum(entry.role == _ASSISTANT for entry in erased.values()))
    writer.many("DELETE FROM entry WHERE space = ? AND seq = ?", ((space, seq) for seq in seqs))
    return [erased[seq] for seq in seqs if seq in erased]


def _blank_bodies(writer: Writer, seqs: Sequence[int]) -> dict[int, ErasedEntry]:
    """Overwrite what entries say; those that are there, by sequence number."""
    space = writer.space
    rows = list(
        writer.rows(
            "SELECT e.seq, e.id, e.source, e.body, p.text, b.role,"
            " coalesce(length(CAST(b.text AS BLOB)) + length(CAST(b.metadata AS BLOB)), 0)"
            " FROM entry e"
            " LEFT JOIN body b ON b.id = e.body"
            " LEFT JOIN source s ON s.space = e.space AND s.id = e.source"
            " LEFT JOIN label p ON p.id = s.path WHERE e.space = ?"
            " AND e.seq IN (SELECT value FROM json_each(?))",
            (space, json.dumps(list(seqs))),
        )
    )
    bodies = [int(row[3]) for row in rows]
    writer.blank("body", ("text", "speaker", "role", "session", "metadata"), space, bodies)
    return {
        int(row[0]): ErasedEntry(str(row[1]), int(row[2]), row[4], row[5], int(row[6]))
        for row in rows
    }


# ------------------------------------------------------- the entries that a model was shown


def note_shown(
    writer: Writer, space: int, replies: Collection[str], shown: Collection[str]
) -> None:
    """Note, by ids, that the model that gave these replies was shown these entries."""
    shown_seqs = seqs_of(writer, space, shown)
    pairs = product(shown_seqs, seqs_of(writer, space, replies))
    writer.many(
        "INSERT INTO reply_shown (space, shown, reply) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        ((space, seq, reply) for seq, reply in pairs if seq != reply),
    )


def replies_to(reader: Reader, shown: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The replies whose model was shown entries, also ones that are gone: (entry, reply)."""
    rows = reader.rows(
        "SELECT shown, reply FROM reply_shown"
        " WHERE space = ? AND shown IN (SELECT value FROM json_each(?))",
        (reader.space, json.dumps(list(shown))),
    )
    return ((int(row[0]), int(row[1])) for row in rows)


def drop_shown(writer: Writer, shown: Sequence[int]) -> None:
    """Drop the notes on entries that are gone."""
    space = writer.space
    writer.many(
        "DELETE FROM reply_shown WHERE space = ? AND shown = ?", ((space, seq) for seq in shown)
    )
