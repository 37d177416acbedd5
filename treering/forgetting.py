"""Erasing entries: from the journal, from everything derived, and from the bytes of the file."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from treering.chat import unanswered
from treering.code import marks, recorded
from treering.errors import JournalFull
from treering.facts import store as facts
from treering.fragments import store
from treering.journal import claims, entries, replies, work
from treering.journal.contract import Database, Reader, Writer
from treering.journal.entries import Draft
from treering.memo import store as memo
from treering.records import Filter, Forgotten
from treering.tree import store as tree

log = logging.getLogger("treering")

VIEW = "scrub"
"""Work left when the file could not be rewritten: erased rows may still be in its bytes."""

MAX_NEEDLES = (
    16  # pieces of erased text that are looked for in the file; each costs one pass over it
)
NEEDLE_CHARS = 32
MIN_NEEDLE_CHARS = 12  # shorter ones occur by chance


def forget(database: Database, space: int, seqs: Sequence[int]) -> Forgotten:
    """Erase entries for good; ``scrubbed`` in the result tells whether the file was rewritten.

    The rows go in one transaction. Rewriting the file comes after it and stays queued as pending
    work until it has been done.
    """
    with database.write() as writer:
        erased = entries.identities(writer, seqs)
        pieces = _pieces(writer, seqs)
        views = remove(writer, space, seqs)
        sources = entries.drop_empty_sources(writer, space)
        work.enqueue(writer, space, VIEW, [0])
        needles = [piece.encode() for piece in pieces if not _occurs(writer, piece)]
    try:
        scrubbed = scrub(database, space, needles)
    except JournalFull as error:  # rewriting needs as much room again as the file has
        log.warning("erased, but not yet from the file's bytes; settle() retries: %s", error)
        scrubbed = False
    return Forgotten(tuple(erased), tuple(sources), views, scrubbed)


def matching(reader: Reader, space: int, entry_ids: Sequence[str], condition: Filter) -> list[int]:
    """The entries of these ids that meet a filter; with no id, all that meet it.

    Raises UnknownName for an id that is not there.
    """
    seqs = list(entries.matching(reader, space, condition))
    if not entry_ids:
        return seqs
    wanted = {entries.seq_of(reader, space, one) for one in entry_ids}
    return [seq for seq in seqs if seq in wanted]


def remove(writer: Writer, space: int, seqs: Sequence[int]) -> dict[str, int]:
    """Delete entries and what every view derived from them; return the derived rows by kind."""
    for seq, silent in recorded.without_notes(writer, space, seqs):
        rewrite(writer, space, seq, silent)
    gone = remove_derived(writer, space, seqs)
    work.forget_errors(writer, space)
    entries.erase(writer, seqs)
    return gone


def rewrite(writer: Writer, space: int, seq: int, draft: Draft) -> None:
    """Give an entry another content; what was derived from the old one goes and is made anew."""
    remove_derived(writer, space, [seq])
    entries.rewrite(writer, seq, draft)
    work.enqueue(writer, space, store.VIEW, [seq])


def remove_derived(writer: Writer, space: int, seqs: Sequence[int]) -> dict[str, int]:
    """Delete what every view derived from entries that are about to go or to change.

    The one list of the views: whatever holds text of entries has its ``erase`` called here.
    """
    memos, changes = memo.erase(writer, seqs)
    seqs = [*seqs, *changes]
    marks.erase(writer, space, seqs)
    replies.erase(writer, space, seqs)
    unanswered.erase(writer, seqs)
    claims.erase(writer, seqs)
    summaries = tree.erase(writer, space, seqs)
    statements = facts.erase(writer, space, seqs)
    fragments = store.erase(writer, space, seqs)
    entries.erase(writer, changes)
    return fragments | {"summaries": summaries, "memos": memos, "statements": statements}


def scrub(database: Database, space: int, needles: Sequence[bytes] = ()) -> bool:
    """Rewrite the file without what was erased. False if a reader stood in the way: try later."""
    clean = database.scrub(needles)
    if clean:
        with database.write() as writer:
            work.claim(writer, space, VIEW, [0])
    return clean


def _pieces(reader: Reader, seqs: Sequence[int]) -> list[str]:
    """Pieces of some of the texts, evenly chosen: what to look for in the file afterwards.

    As bytes: a damaged entry is to be forgotten, too.
    """
    step = max(len(seqs) // MAX_NEEDLES, 1)
    rows = (
        reader.row("SELECT CAST(text AS BLOB) FROM entry WHERE seq = ?", (seq,))
        for seq in seqs[::step][:MAX_NEEDLES]
    )
    texts = (bytes(row[0]).decode(errors="ignore") for row in rows if row is not None)
    pieces = [_middle(text) for text in texts]
    return [piece for piece in pieces if len(piece) >= MIN_NEEDLE_CHARS]


def _middle(text: str) -> str:
    start = max((len(text) - NEEDLE_CHARS) // 2, 0)
    return text[start : start + NEEDLE_CHARS]


def _occurs(reader: Reader, piece: str) -> bool:
    """Whether an entry that stays holds a piece; then finding it proves nothing."""
    row = reader.row("SELECT 1 FROM entry WHERE instr(text, ?) > 0 LIMIT 1", (piece,))
    return row is not None
