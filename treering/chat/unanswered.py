"""Marks on messages that got no reply: said again, such a message is not kept twice.

The mark is put on when a round fails, not while it lasts: two who say the same at once are two.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from treering.journal import entries, work
from treering.journal.contract import Writer

VIEW: Final = f"{work.MARK}unanswered"
_ALL: Final = 1 << 62


def mark(writer: Writer, space: int, message: Collection[str]) -> None:
    """Note that the message of these entries got no reply; those erased meanwhile are left out."""
    work.enqueue(writer, space, VIEW, entries.seqs_of(writer, space, message))


def take(writer: Writer, space: int, source: str) -> frozenset[str]:
    """The ids of the marked entries of a conversation, whose marks come off: it goes on."""
    marked = entries.by_seq(writer, work.queued(writer, space, VIEW, _ALL))
    here = {seq: entry.id for seq, entry in marked.items() if entry.source == source}
    work.claim(writer, space, VIEW, here)
    return frozenset(here.values())


def erase(writer: Writer, space: int, erased: Sequence[int]) -> None:
    """Take the marks off entries that are about to go or to change."""
    work.claim(writer, space, VIEW, erased)
