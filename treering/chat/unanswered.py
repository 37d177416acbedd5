"""Messages that have no reply: said again, such a message is not kept twice.

The mark is put on with the message, before a model is asked, and comes off with the reply: a
process that is killed in between leaves it. While the process that asks is running and has not
given up, the same words are another message: two who say the same at once are two.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Collection, Sequence
from typing import Final

from treering.journal import entries
from treering.journal.contract import Reader, Writer

_RUN: Final = secrets.token_hex(8)
"""Tells this process from an earlier one with its number: in a container that is restarted, all
have the same."""


def ask(writer: Writer, space: int, message: Collection[str]) -> None:
    """Note that this process asks a model for a reply to the message of these entries."""
    writer.many(
        "INSERT INTO unanswered (entry, space, pid, run) VALUES (?, ?, ?, ?)",
        ((seq, space, os.getpid(), _RUN) for seq in entries.seqs_of(writer, space, message)),
    )


def give_up(writer: Writer, space: int, message: Collection[str]) -> None:
    """Note that the message will get no reply unless it is said again."""
    writer.many(
        "UPDATE unanswered SET pid = NULL, run = NULL WHERE entry = ?",
        ((seq,) for seq in entries.seqs_of(writer, space, message)),
    )


def answered(writer: Writer, space: int, message: Collection[str]) -> None:
    """Take the mark off: called in the transaction that keeps the reply."""
    erase(writer, entries.seqs_of(writer, space, message))


def take(writer: Writer, space: int, source: str) -> frozenset[str]:
    """The ids of a conversation's messages that nobody asks for, whose marks come off."""
    waiting = _waiting(writer, space, source)
    erase(writer, list(waiting))
    return frozenset(waiting.values())


def erase(writer: Writer, erased: Sequence[int]) -> None:
    """Take the marks off entries, such as those that are about to go or to change."""
    writer.many("DELETE FROM unanswered WHERE entry = ?", ((seq,) for seq in erased))


def _waiting(reader: Reader, space: int, source: str) -> dict[int, str]:
    rows = reader.rows(
        "SELECT u.entry, e.id, u.pid, u.run FROM unanswered u JOIN entry e ON e.seq = u.entry"
        " JOIN source s ON s.id = e.source WHERE u.space = ? AND s.name = ?",
        (space, source),
    )
    return {int(seq): str(one) for seq, one, pid, run in rows if not _is_asking(pid, run)}


def _is_asking(pid: int | None, run: str | None) -> bool:
    """Whether the process that asked is there to take the reply."""
    if pid is None:
        return False
    return run == _RUN if pid == os.getpid() else _is_running(pid)


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":
        return False  # there os.kill ends the process instead of looking for it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and somebody else's
        return True
    return True
