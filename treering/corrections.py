"""Retract entries, restore them, and let proposed ones wait: see ``treering.ingest.withheld``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from treering.errors import InputError, UnknownEntry, UnknownName
from treering.ingest import withheld
from treering.ingest.drafts import Envelope
from treering.ingest.intake import Intake, Message
from treering.ingest.withheld import Author
from treering.journal import entries, sources, tombstones, writing
from treering.journal.fields import checked_name
from treering.journal.space import Space, SpaceWriter
from treering.journal.writing import Draft
from treering.records import Filter, Forgotten, Receipt
from treering.text import check_text
from treering.views.erase import Eraser
from treering.views.registry import Views

if TYPE_CHECKING:
    from treering.memory import Memory


AGENT: Final = "agent"
"""The author of proposals of an agent without a key."""


class _GoesWith(Exception):
    """Further entries go with those that are retracted: changes to memos that quote them."""

    def __init__(self, ids: Collection[str]) -> None:
        self.ids = ids


def check_author(by: str | None, reason: str | None = None) -> Author:
    """Return who corrects an entry, and why. Raise InputError, TextEncodingError."""
    return checked_name(by, "by"), None if reason is None else check_text(reason, "the reason")


def takes_only_proposals(memory: Memory) -> bool:
    """Return whether texts of agents wait for approval in the space of a memory."""
    with suppress(UnknownName):  # the first text makes the space
        return memory.configure().agents == "propose"
    return False


def propose(
    space: Space,
    content: str | Path | Message | Iterable[Message],
    source: str | None,
    envelope: Envelope,
    by: str,
) -> Receipt:
    """Store a text or messages that wait for approval. Raise InputError, also for a file."""
    if isinstance(content, Path):
        raise InputError("a file cannot be proposed; give a text or messages", param="propose")
    author = check_author(by)
    withheld.begin(space)
    intake = Intake(space.withheld, Eraser(space.withheld, []))

    def record(writer: SpaceWriter, receipt: Receipt) -> None:
        withheld.note(writer, receipt.ids, "proposed", author)

    return envelope.count(intake.add(content, source, envelope, before_commit=record))


def retract(space: Space, views: Views, entry_id: str, author: Author) -> None:
    """Withhold an entry, and the changes to memos that were drawn from it.

    The copy in the hidden space is durable before the entry is taken out. Raise UnknownEntry.
    """
    ids, is_copied, is_done = {entry_id}, False, False
    try:
        while not is_done:
            with space.read() as reader:
                reader.ensure_there()
                seqs = [entries.seq_of(reader, reader.id, each) for each in sorted(ids)]
                digests = entries.digests(reader, reader.id, ids)
                items = withheld.copies(reader, seqs)
            withheld.withhold(space, items, author, main=entry_id)
            is_copied = True
            try:
                is_done = space.change(partial(_take_out, views.eraser, digests))
            except _GoesWith as more:
                ids |= set(more.ids)
    except UnknownEntry:
        if is_copied:  # it was forgotten meanwhile: no copy may stay
            erase_withheld(space, sorted(ids), Filter(), None)
        raise


def _take_out(eraser: Eraser, digests: Mapping[str, bytes], writer: SpaceWriter) -> bool:
    """Delete entries that have been copied. Return False if one has changed since."""
    if entries.digests(writer, writer.id, digests) != digests:
        return False
    _, gone = eraser.remove(writer, entries.seqs_of(writer, writer.id, digests))
    if further := {entry.id for entry in gone} - digests.keys():
        raise _GoesWith(further)
    tombstones.put(writer, digests)  # imports must not bring them back
    return True


def restore(space: Space, views: Views, intake: Intake, entry_id: str, author: Author) -> None:
    """Put a retracted entry back in its place, or accept one that was proposed.

    Raise UnknownEntry, and InputError if its source has the same text again.
    """
    with space.withheld.read() as reader:
        notes = withheld.notes(reader, [entry_id]).values()
        history = [note for note in notes if note.entry_id == entry_id]
        quoting = [n for n in notes if n.other == entry_id and n.what == "retracted"]
        ids = {entry_id, *(correction.entry_id for correction in quoting)}
        seqs = entries.seqs_of(reader, reader.id, ids) if reader.is_there else []
        if entry_id not in entries.identities(reader, seqs):
            raise UnknownEntry(f"no entry {entry_id!r} is withheld from this space")
        items = withheld.copies(reader, seqs)
    is_proposed = not history or history[-1].what == "proposed"
    if is_proposed:  # its place is the end of its source
        items = [
            (source, draft._replace(position=None))
            for source, draft in items
            if isinstance(draft, Draft)
        ]
    intake.put_back(items)
    with space.read() as reader:
        if not entries.digests(reader, reader.id, [entry_id]):
            raise InputError(f"the source of {entry_id!r} has its text again, as another entry")
    with space.withheld.write() as writer:
        writing.erase(writer, seqs)
        withheld.note(writer, ids, "accepted" if is_proposed else "restored", author)
    views.build()


def erase_withheld(
    space: Space, ids: Sequence[str], condition: Filter, erased: Forgotten | None
) -> Forgotten | None:
    """Erase the withheld entries that a ``forget`` means, and the history of all that it erases.

    Return the receipt of both parts; None if neither erased anything.
    """
    hidden = space.withheld
    with hidden.read() as reader:
        if not reader.is_there:
            return erased
        chosen = entries.seqs_of(reader, reader.id, ids) if ids else None
        matching = entries.matching_seqs(reader, reader.id, condition, chosen)
        doomed = withheld.without_notes(reader, list(matching))
        gone = entries.identities(reader, doomed)
        about = withheld.notes(reader, {*gone, *(erased.entries if erased else ())})
    if not doomed and not about:
        return erased
    eraser = Eraser(hidden, [])
    done = eraser.forget(lambda writer: eraser.erase(writer, [*doomed, *about]))
    names: list[str] = []
    if doomed:
        with space.write() as writer:
            names = sources.drop_empty_sources(writer, writer.id)
    before = erased or Forgotten((), (), {}, scrubbed=True)
    return replace(
        before,
        entries=(*before.entries, *gone),
        sources=(*before.sources, *names),
        scrubbed=before.scrubbed and done.scrubbed,
    )


def erase_expired(space: Space) -> None:
    """Erase the withheld entries whose time to expire has come."""
    hidden = space.withheld
    with hidden.read() as reader:
        seqs = entries.expired_seqs(reader, reader.id)
    if seqs:
        eraser = Eraser(hidden, [])
        eraser.forget(lambda writer: eraser.erase(writer, seqs))
