"""Messages that have no reply: said again, such a message is not kept twice.

The mark is put on with the message, before a model is asked, and comes off with the reply: a
process that is killed in between leaves it. While the process that asks is present and has not
given up, the same words are another message: two who say the same at once are two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from treering.journal import entries, labels
from treering.journal.contract import Writer


def ask(writer: Writer, space: int, message: Collection[str], asker: int) -> None:
    """Note that the process of that presence asks a model for a reply to these entries."""
    seqs = entries.seqs_of(writer, space, message)
    writer.many(
        "INSERT INTO unanswered (entry, space, message, asker) VALUES (?, ?, ?, ?)",
        ((seq, space, min(seqs), asker) for seq in seqs),
    )


def give_up(writer: Writer, space: int, message: Collection[str], asker: int) -> None:
    """Note that the message gets no reply from that process unless it is said again."""
    writer.many(
        "UPDATE unanswered SET asker = NULL WHERE space = ? AND entry = ? AND asker = ?",
        ((space, seq, asker) for seq in entries.seqs_of(writer, space, message)),
    )


def answered(writer: Writer, space: int, message: Collection[str]) -> None:
    """Take the mark off: called in the transaction that keeps the reply."""
    erase(writer, entries.seqs_of(writer, space, message))


def take(
    writer: Writer, space: int, source: str, is_present: Callable[[int], bool]
) -> frozenset[str]:
    """The ids of the newest unanswered message of a conversation that no process works on.

    All such messages lose their marks: what is said now comes after them.
    """
    rows = writer.rows(
        "SELECT u.entry, u.message, e.id, u.asker FROM unanswered u"
        " JOIN entry e ON e.space = u.space AND e.seq = u.entry"
        " JOIN source s ON s.space = e.space AND s.id = e.source WHERE u.space = ? AND s.hash = ?",
        (space, labels.hash_of(source)),
    )
    waiting = [row for row in rows if row[3] is None or not is_present(int(row[3]))]
    erase(writer, [int(row[0]) for row in waiting])
    newest = max((row[1] for row in waiting), default=None)
    return frozenset(str(row[2]) for row in waiting if row[1] == newest)


def erase(writer: Writer, erased: Sequence[int]) -> None:
    """Take the marks off entries, such as those that are about to go or to change."""
    space = writer.space
    writer.many(
        "DELETE FROM unanswered WHERE space = ? AND entry = ?", ((space, seq) for seq in erased)
    )
