"""Leases: which process works on what, and messages that wait for a reply.

An attempt is stored with its own number and the presence of its process. It ends with the process,
or earlier if it fails there. Another process may then take over what it left.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from treering import forks
from treering.journal import entries, sources
from treering.journal.contract import Database, Writer

_BITS: Final = 62
_at_work: set[int] = set()
"""The attempts of this process that have not ended."""
forks.call_in_child(_at_work.clear)  # the attempts of the parent end with the parent


@contextmanager
def attempt() -> Iterator[int]:
    """The number of a new attempt, which ends with the block."""
    number = secrets.randbits(_BITS)
    _at_work.add(number)
    try:
        yield number
    finally:
        _at_work.discard(number)


def is_at_work(database: Database, presence: int, number: int) -> bool:
    """Return whether an attempt has not ended, by its number and the presence of its process."""
    # Asked first: a process that lost its locks and took them again has another presence since.
    if number in _at_work:
        return True
    return presence != database.presence() and database.is_present(presence)


# ------------------------------------------------------------------- messages without a reply

# A message is marked when it is stored, before a model is asked, and the mark goes with the reply:
# a killed process leaves it. The same message, sent again, is then not stored twice. While the
# process that asks is present and has not given up, the same words are another message.


def ask(writer: Writer, space: int, message: Collection[str], asker: int) -> None:
    """Mark the entries of a message: the process of that presence asks a model for a reply."""
    seqs = entries.seqs_of(writer, space, message)
    writer.many(
        "INSERT INTO unanswered (entry, space, message, asker) VALUES (?, ?, ?, ?)",
        ((seq, space, min(seqs), asker) for seq in seqs),
    )


def give_up(writer: Writer, space: int, message: Collection[str], asker: int) -> None:
    """Note that this process gets no reply to a message, unless it is sent again."""
    writer.many(
        "UPDATE unanswered SET asker = NULL WHERE space = ? AND entry = ? AND asker = ?",
        ((space, seq, asker) for seq in entries.seqs_of(writer, space, message)),
    )


def mark_answered(writer: Writer, space: int, message: Collection[str]) -> None:
    """Drop the mark of a message, in the transaction that stores the reply."""
    unmark(writer, entries.seqs_of(writer, space, message))


def take_unanswered(
    writer: Writer, space: int, source: str, is_present: Callable[[int], bool]
) -> frozenset[str]:
    """Return the ids of the newest message of a conversation that lacks a reply and an asker.

    All such messages lose their marks: the next message comes after them.
    """
    rows = writer.rows(
        "SELECT u.entry, u.message, e.id, u.asker FROM unanswered u"
        " JOIN entry e ON e.space = u.space AND e.seq = u.entry"
        " JOIN source s ON s.space = e.space AND s.id = e.source WHERE u.space = ? AND s.hash = ?",
        sources.key(space, source),
    )
    waiting = [row for row in rows if row[3] is None or not is_present(int(row[3]))]
    unmark(writer, [int(row[0]) for row in waiting])
    newest = max((row[1] for row in waiting), default=None)
    return frozenset(str(row[2]) for row in waiting if row[1] == newest)


def unmark(writer: Writer, seqs: Sequence[int]) -> None:
    """Drop the marks of entries that have a reply, or are about to be erased or changed."""
    space = writer.space
    writer.many(
        "DELETE FROM unanswered WHERE space = ? AND entry = ?", ((space, seq) for seq in seqs)
    )
