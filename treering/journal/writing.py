"""The journal of entries, written: drafts appended, entries rewritten, pinned and erased."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Self

from treering.errors import InputError
from treering.journal import damage, supersession
from treering.journal.contract import Reader, Value, Writer
from treering.journal.entries import PAGE
from treering.journal.stored import added_moment, metadata_of, micros, zone_minutes
from treering.records import Entry, Kind

_ASSISTANT = "assistant"
_ID_BITS = 48
"""Of the part of an id that begins by chance; its first bit leaves room to count on. So two who add
to a space in the same millisecond give the same id once in some 10¹⁴ times, and one is refused."""


class Draft(NamedTuple):
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

    def at_micros(self) -> int | None:
        """The time as it is stored."""
        return micros(self.at) if self.at else None

    def digest(self) -> bytes:
        """The identity of this content within its source."""
        return self.digest_at(self.at_micros())

    def digest_at(self, at: int | None) -> bytes:
        """``digest``, for who knows ``at_micros``."""
        content = (self.text, self.kind, self.speaker, self.role, self.session, self.metadata, at)
        return damage.digest(content, self.key)


class Stored(NamedTuple):
    """An entry as it was stored, and its digest: what reading it would give."""

    entry: Entry
    digest: bytes


class NewEntry(NamedTuple):
    """A draft that becomes an entry, with its time, digest, id and position, and when it was
    added; times are stored ones.
    """

    draft: Draft
    at: int | None
    digest: bytes
    id: str
    position: int
    added: int

    def stored(self, source: str) -> Stored:
        """As it is read from a source of that name."""
        draft = self.draft
        entry = Entry(
            id=self.id,
            text=draft.text,
            source=source,
            position=self.position,
            kind=draft.kind,
            added=added_moment(self.added),
            at=draft.at,
            speaker=draft.speaker,
            role=draft.role,
            session=draft.session,
            metadata=metadata_of(draft.metadata),
            expires=draft.expires,
            pinned=draft.pinned,
        )
        return Stored(entry, self.digest)


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
    writer: Writer, space: int, source: int, drafts: Iterable[Draft], queue: str | None = None
) -> AppendResult:
    """Append drafts to a source. ``queue`` names the view that has work to do on each new entry.

    A draft whose content the source already holds is skipped and counted as unchanged.
    """
    now = micros(datetime.now(UTC))
    ids = _new_ids(now)
    row = writer.row(
        "SELECT max(position) FROM entry WHERE space = ? AND source = ?", (space, source)
    )
    assert row is not None  # an aggregate always has a row
    position = 0 if row[0] is None else int(row[0]) + 1
    drafts = list(drafts)
    ats = [draft.at_micros() for draft in drafts]
    digests = [draft.digest_at(at) for draft, at in zip(drafts, ats, strict=True)]
    there = _There.of(writer, space, drafts)
    if row[0] is not None:
        there.look_up(writer, space, source, digests)
    new: list[NewEntry] = []
    for draft, at, digest in zip(drafts, ats, digests, strict=True):
        if not there.has(draft, digest):
            place = position if draft.position is None else draft.position
            added = micros(draft.added) if draft.added else now
            new.append(NewEntry(draft, at, digest, draft.id or next(ids), place, added))
            there.add(draft, digest)
            position = max(position, place + 1)
    seqs = _insert(writer, space, source, new)
    _count_assistant(writer, sum(entry.draft.role == _ASSISTANT for entry in new))
    if queue is not None:
        writer.many(
            "INSERT INTO work (space, view, target) VALUES (?, ?, ?)",
            ((space, queue, seq) for seq in seqs),
        )
    return AppendResult(dict(zip(seqs, new, strict=True)), len(drafts) - len(new))


def _new_ids(now: int) -> Iterator[str]:
    """Ids that nobody has: the time in milliseconds, then a number that begins by chance.

    So ids ascend with time, as those of UUID version 7 do, and the index of ids grows at its end:
    random ones would write a page of it for each entry.
    """
    first = secrets.randbits(_ID_BITS - 1)
    return (f"{now // 1000:012x}{number:012x}" for number in itertools.count(first))


@dataclass(frozen=True, slots=True)
class _There:
    """What a source and its space hold of some drafts.

    ``texts`` are those of the drafts' own ids: an import gives ids, and such an id may also stand
    for another text here.
    """

    digests: set[bytes]
    texts: dict[str, str | None]

    @classmethod
    def of(cls, reader: Reader, space: int, drafts: Sequence[Draft]) -> Self:
        """What the space holds of them; of the source nothing is known yet."""
        identities = [draft.id for draft in drafts if draft.id is not None]
        return cls(set(), _texts_by_id(reader, space, identities))

    def look_up(self, reader: Reader, space: int, source: int, digests: Sequence[bytes]) -> None:
        """Note which contents a source holds."""
        for start in range(0, len(digests), PAGE):
            chunk = digests[start : start + PAGE]
            rows = reader.rows(
                "SELECT digest FROM entry WHERE space = ? AND source = ?"
                f" AND digest IN ({', '.join('?' * len(chunk))})",
                (space, source, *chunk),
            )
            self.digests.update(bytes(row[0]) for row in rows)

    def has(self, draft: Draft, digest: bytes) -> bool:
        """Whether the source holds the content, or the space the id. Raises InputError."""
        # The id first: one that stands for another text is refused whatever the source holds.
        return (draft.id in self.texts and _is_same(draft, self.texts)) or digest in self.digests

    def add(self, draft: Draft, digest: bytes) -> None:
        """Note that a draft is there from now on."""
        self.digests.add(digest)
        if draft.id is not None:
            self.texts[draft.id] = draft.text


def _insert(writer: Writer, space: int, source: int, new: Sequence[NewEntry]) -> Sequence[int]:
    """Store new entries; their sequence numbers."""
    bodies = writer.insert_many(_BODY, [_body(entry.draft) for entry in new])
    return writer.insert_many(
        "INSERT INTO entry (space, id, source, position, digest, kind, at, added, body, expires,"
        " pinned, zone) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(space, entry.id, source, entry.position, entry.digest, entry.draft.kind),
                entry.at,
                entry.added,
                body,
                micros(entry.draft.expires) if entry.draft.expires else None,
                entry.draft.pinned,
                zone_minutes(entry.draft.at),
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


def rewrite(writer: Writer, seq: int, draft: Draft) -> None:
    """Give an entry another content; its id, source and position stay."""
    _blank_bodies(writer, [seq])
    at = micros(draft.at) if draft.at else None
    writer.execute(
        "UPDATE entry SET digest = ?, kind = ?, at = ?, zone = ?, body = ?"
        " WHERE space = ? AND seq = ?",
        (
            *(draft.digest(), draft.kind, at, zone_minutes(draft.at)),
            *(writer.insert(_BODY, _body(draft)), writer.space, seq),
        ),
    )


def set_pinned(writer: Writer, seq: int, pinned: bool) -> None:
    """Pin an entry, or pin it no longer."""
    writer.execute(
        "UPDATE entry SET pinned = ? WHERE space = ? AND seq = ?", (pinned, writer.space, seq)
    )


@dataclass(frozen=True, slots=True)
class ErasedEntry:
    """What is known of an entry that is gone: its id, the number of its source, the file that this
    was read from, and its role."""

    id: str
    source: int
    path: str | None
    role: str | None


def erase(writer: Writer, seqs: Sequence[int]) -> list[ErasedEntry]:
    """Delete entries; their derived rows must have gone before. What they said is overwritten.

    Returns those that were there.
    """
    if not seqs:
        return []
    space = writer.space
    supersession.erase(writer, seqs)
    erased = _blank_bodies(writer, seqs)
    _count_assistant(writer, -sum(entry.role == _ASSISTANT for entry in erased.values()))
    writer.many("DELETE FROM entry WHERE space = ? AND seq = ?", ((space, seq) for seq in seqs))
    return [erased[seq] for seq in seqs if seq in erased]


def _count_assistant(writer: Writer, more: int) -> None:
    """Note that the space has so many more messages of an assistant."""
    if more:
        change = "UPDATE space SET assistant = assistant + ? WHERE id = ?"
        writer.execute(change, (more, writer.space))


def _blank_bodies(writer: Writer, seqs: Sequence[int]) -> dict[int, ErasedEntry]:
    """Overwrite what entries say; those that are there, by sequence number."""
    space = writer.space
    rows = list(
        writer.rows(
            "SELECT e.seq, e.id, e.source, e.body, p.text, b.role FROM entry e"
            " LEFT JOIN body b ON b.id = e.body"
            " LEFT JOIN source s ON s.space = e.space AND s.id = e.source"
            " LEFT JOIN label p ON p.id = s.path WHERE e.space = ?"
            " AND e.seq IN (SELECT value FROM json_each(?))",
            (space, json.dumps(list(seqs))),
        )
    )
    bodies = [int(row[3]) for row in rows]
    writer.blank("body", ("text", "speaker", "role", "session", "metadata"), space, bodies)
    return {int(row[0]): ErasedEntry(str(row[1]), int(row[2]), row[4], row[5]) for row in rows}
