"""The hidden space of withheld entries: those retracted or proposed, and the history of entries.

No view reads that space, so nothing derived from a withheld entry can be found. Each correction is
an entry of it, too, under the source ``entries.HISTORY``.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final, get_args

from treering.errors import InputError, JournalCorrupt
from treering.ingest import exchange
from treering.ingest.items import Item, Plan, store_items
from treering.journal import damage, entries, sources, stored, writing
from treering.journal.fields import metadata_json
from treering.journal.ledger import UNLIMITED, Size
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.journal.writing import Draft
from treering.records import JSON, Correction, CorrectionName, Entry, Filter, Withheld
from treering.text import digest_number

_STORE: Final = Plan(keeps=True, again_forgotten=True)

Author = tuple[str | None, str | None]
"""The person or program that corrects an entry, and the reason."""


@contextmanager
def _writing(space: Space) -> Iterator[SpaceWriter]:
    """Begin a write transaction of the hidden space, which the space has noted before."""
    begin(space)
    with space.withheld.write() as writer:
        yield writer


def begin(space: Space) -> None:
    """Note with a space that its hidden space may hold something."""
    with space.read() as reader:
        is_noted = reader.state.has_corrections
    if not is_noted:
        with space.write() as writer:
            writer.execute("UPDATE space SET corrected = 1 WHERE id = ?", (writer.id,))


def withhold(
    space: Space, items: Sequence[Item], author: Author, *, main: str | None = None
) -> None:
    """Copy entries that are retracted. With ``main`` the others go because they quote that one."""
    ids = [draft.id for _, draft in items if isinstance(draft, Draft) and draft.id]
    with _writing(space) as writer:
        _drop_copies(writer, ids)
        store_items(writer, items, _STORE)
        for each in ids:
            note(writer, [each], "retracted", author, main if each != main else None)


def _drop_copies(writer: SpaceWriter, ids: Collection[str]) -> None:
    """Erase what a retraction or restoration that was cut short has left of visible entries."""
    writing.erase(writer, entries.seqs_of(writer, writer.id, ids))


def check_room(space: Space, items: Sequence[Item]) -> None:
    """Raise QuotaExceeded unless ``take_in`` has room for items."""
    drafts = {draft.id: draft for _, draft in items if isinstance(draft, Draft)}
    with space.withheld.read() as reader:
        here = entries.digests(reader, reader.id, [each for each in drafts if each])
        new = [draft for each, draft in drafts.items() if each not in here]
        space.database.quota.ensure_room(reader, Size.measure(new))


def take_in(space: Space, items: Sequence[Item]) -> None:
    """Store withheld entries and corrections of an export; those that are here stay as they are."""
    if items:
        with _writing(space) as writer:
            _index(writer, store_items(writer, items, _STORE).ids)


def note(
    writer: SpaceWriter,
    ids: Iterable[str],
    what: CorrectionName,
    author: Author,
    other: str | None = None,
) -> None:
    """Record a correction of entries in the history."""
    now = datetime.now(UTC)
    drafts: list[Item] = []
    for each in ids:
        fields = asdict(Correction(each, what, now, *author, other))
        del fields["at"]
        metadata = metadata_json({name: value for name, value in fields.items() if value})
        key = secrets.token_hex(8)
        drafts.append((entries.HISTORY, Draft(what, "text", now, metadata=metadata, key=key)))
    # Not refused: what it records is done. ``ensure_room`` is asked before.
    _index(writer, store_items(writer, drafts, Plan(is_checked=False)).ids)


def _index(writer: SpaceWriter, ids: Collection[str]) -> None:
    """Let the corrections among new entries be found by the entries that they name."""
    new = entries.by_seq(writer, entries.seqs_of(writer, writer.id, ids))
    corrections = {seq: _correction(e) for seq, e in new.items() if e.source == entries.HISTORY}
    writer.many(
        "INSERT INTO correction (space, about, note) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (
            (writer.id, digest_number(named), seq)
            for seq, correction in corrections.items()
            for named in (correction.entry_id, correction.other)
            if named is not None
        ),
    )


def ensure_room(space: Space) -> None:
    """Raise QuotaExceeded unless the history has room for a correction."""
    if space.database.quota != UNLIMITED:
        with _writing(space) as writer:
            writer.quota.ensure_room(writer, Size(1, 1))


def record(
    space: Space, entry_id: str, what: CorrectionName, author: Author, other: str | None = None
) -> None:
    """Record a correction of an entry that is not withheld, in a transaction of its own."""
    with _writing(space) as writer:
        _drop_copies(writer, [entry_id])
        note(writer, [entry_id], what, author, other)


def copies(reader: SpaceReader, seqs: Collection[int]) -> list[Item]:
    """Return entries with their keys, ready to be stored in another space."""
    rows = reader.rows(
        "SELECT seq, key FROM entry WHERE space = ? AND seq IN (SELECT value FROM json_each(?))",
        (reader.space, json.dumps(sorted(seqs))),
    )
    keys = {int(row[0]): str(row[1]) for row in rows}
    found = entries.by_seq(reader, seqs)
    return [(entry.source, Draft.from_entry(entry, keys[seq])) for seq, entry in found.items()]


def notes(reader: SpaceReader, about: Collection[str]) -> dict[int, Correction]:
    """Return the corrections that name some entries, oldest first, by sequence number."""
    if not reader.is_there:
        return {}
    rows = reader.rows(
        "SELECT note FROM correction WHERE space = ? AND about IN (SELECT value FROM json_each(?))",
        (reader.id, json.dumps(sorted(map(digest_number, about)))),
    )
    found = entries.by_seq(reader, [int(row[0]) for row in rows])
    corrections = {seq: _correction(entry) for seq, entry in found.items()}
    named = set(about)
    return {s: each for s, each in corrections.items() if {each.entry_id, each.other} & named}


def without_notes(reader: SpaceReader, seqs: Collection[int]) -> list[int]:
    """Return those of some entries of a hidden space that are not corrections."""
    rows = reader.rows(
        "SELECT e.seq FROM entry e JOIN source s ON s.space = e.space AND s.id = e.source"
        " WHERE e.space = ? AND s.hash <> ? AND e.seq IN (SELECT value FROM json_each(?))",
        (*sources.key(reader.id, entries.HISTORY), json.dumps(sorted(seqs))),
    )
    return [int(row[0]) for row in rows]


def history(space: Space, entry_id: str) -> list[Correction]:
    """Return the corrections of an entry, oldest first. Raise UnknownEntry."""
    with space.withheld.read() as reader:
        named = notes(reader, [entry_id]).values()
    found = [correction for correction in named if correction.entry_id == entry_id]
    if not found:
        with space.read() as reader:
            reader.ensure_there()
            entries.seq_of(reader, reader.id, entry_id)
    return found


def held(space: Space, condition: Filter) -> list[Withheld]:
    """Return the withheld entries that meet a filter, each with its last correction."""
    with space.withheld.read() as reader:
        if not reader.is_there:
            return []
        page = entries.page(reader, reader.id, condition, limit=entries.LAST)
        found = [entry for _, entry in page if entry.source != entries.HISTORY]
        corrections = notes(reader, [entry.id for entry in found])
        last = {each.entry_id: each for each in corrections.values()}
    alone = held_alone(space, [entry.id for entry in found])
    # An export may hold an entry without its corrections.
    return [
        Withheld(entry, last.get(entry.id) or Correction(entry.id, "proposed", entry.added))
        for entry in found
        if entry.id in alone
    ]


def held_alone(space: Space, ids: Sequence[str]) -> set[str]:
    """Return those of some ids that are withheld: a retraction that was cut short leaves both."""
    with space.withheld.read() as reader:
        hidden = entries.digests(reader, reader.id, ids) if reader.is_there and ids else {}
    if not hidden:
        return set()
    with space.read() as reader:
        return hidden.keys() - entries.digests(reader, reader.id, hidden).keys()


def lines(space: Space, damaged: list[JournalCorrupt]) -> Iterator[str]:
    """Yield the lines of an export that hold withheld entries and corrections.

    What is wrong with others is appended to ``damaged``.
    """
    with space.withheld.read() as reader:
        number = reader.id
    return map(exchange.withheld_line, stored.readable(space.database, number, damaged))


def checked(line: exchange.WithheldLine) -> Item:
    """Return the entry of a line, ready to be stored. Raise InputError for a bad correction."""
    if line.source == entries.HISTORY:
        try:
            _parse(json.loads(line.draft.metadata), datetime.now(UTC))
        except (TypeError, ValueError, KeyError) as error:
            raise InputError(f"the correction {line.draft.id!r} cannot be read: {error}") from error
    return line.source, line.draft


def _correction(entry: Entry) -> Correction:
    with damage.decoding_entry(entry.id):
        return _parse(entry.metadata, entry.at or entry.added)


def _parse(metadata: Mapping[str, JSON], at: datetime) -> Correction:
    """Return the correction that metadata hold. Raise TypeError, ValueError, KeyError."""
    fields: dict[str, Any] = {name: damage.checked(str, metadata[name]) for name in metadata}
    if fields["what"] not in get_args(CorrectionName):
        raise ValueError(fields["what"])
    return Correction(at=at, **fields)
