"""The state of the storage: blanked bytes, scrubbings that are due, and a rewrite that is due."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from treering.journal import sources, work
from treering.journal.contract import Reader, Writer
from treering.journal.space import UNNAMED

SCRUB: Final = "scrub"
"""Pending work while the file may hold erased text; one scrubbing ends it for all spaces."""

SPACE_TABLES: Final = ("code_repository", "code_file", "space", "serve_key")
"""Tables with words of whole spaces, such as their names."""

FOREIGN: Final = "view_"
"""Begins the names of the tables of other packages."""

_MARK_BITS: Final = 62  # each mark is its own: one made during a scrubbing is not taken off by it
_USED: Final = {
    "body": "SELECT body FROM entry",
    "label": "SELECT name FROM source UNION SELECT path FROM source WHERE path IS NOT NULL"
    " UNION SELECT document FROM source WHERE document IS NOT NULL",
    "block_rows": "SELECT id FROM block",
    "block_postings": "SELECT postings FROM block",
    "vector_block_data": "SELECT id FROM vector_block",
}
"""The rows in use of each table whose rows are blanked instead of deleted."""

_OF_SPACE: Final = {
    "body": (
        ("text", "speaker", "role", "session", "metadata"),
        "SELECT body FROM entry WHERE space = ?",
    ),
    "block_rows": (("data",), "SELECT id FROM block WHERE space = ?"),
    "block_postings": (("data",), "SELECT postings FROM block WHERE space = ?"),
}
"""The columns of such a table that are blanked, and the rows that a space has in it."""

_COPIES: Final = "copies"
_SETTLE_DAY: Final = "settle day"
_SETTLE_TOKENS: Final = "settle tokens"
_BLANKED: Final = "blanked"
_REWRITE: Final = "rewrite"
_FILLED: Final = "filled:"


def blanked_bytes(reader: Reader) -> int:
    """Bytes of the storage that hold nothing but blanked rows."""
    return _value(reader, _BLANKED)


def add_blanked(writer: Writer, size: int) -> None:
    """Count bytes that were blanked; negative ones, whose rows were deleted."""
    writer.share()
    if size < 0:
        _set(writer, _BLANKED, max(blanked_bytes(writer) + size, 0))
        return
    writer.execute(
        "INSERT INTO storage (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = storage.value + excluded.value",
        (_BLANKED, size),
    )


def is_rewrite_due(reader: Reader) -> bool:
    """Whether only rewriting the whole file removes all that was deleted from it."""
    return bool(_value(reader, _REWRITE))


def set_rewrite_due(writer: Writer) -> None:
    """Note that the whole file has to be rewritten."""
    writer.share()
    _set(writer, _REWRITE, 1)


def refill_mark(reader: Reader, table: str) -> int | None:
    """How many rows a table had lost when it was filled again last; None if that is not known."""
    row = reader.row("SELECT value FROM storage WHERE name = ?", (_FILLED + table,))
    return None if row is None else int(row[0])


def set_refill_mark(writer: Writer, table: str, gone: int) -> None:
    """Note that nothing is left in a table of the rows that it has lost so far."""
    _set(writer, _FILLED + table, gone)


def drop_refill_mark(writer: Writer, table: str) -> None:
    """Note that rows of a table were changed: it may still hold their old content."""
    writer.share()
    writer.execute("DELETE FROM storage WHERE name = ?", (_FILLED + table,))


def drop_blanked(writer: Writer) -> None:
    """Delete the blanked rows; the file is to be rewritten then, as others may have moved."""
    for table, used in _USED.items():
        writer.execute(f"DELETE FROM {table} WHERE id NOT IN ({used})")
    # One without a direction goes too: that it is all zeros is known from its scale.
    writer.execute("DELETE FROM vector_data WHERE data = zeroblob(length(data))")
    _set(writer, _BLANKED, 0)
    set_rewrite_due(writer)


def settle_tokens(reader: Reader, day: int) -> int:
    """Return the tokens that pending work has cost a server on a day."""
    return _value(reader, _SETTLE_TOKENS) if _value(reader, _SETTLE_DAY) == day else 0


def add_settle_tokens(writer: Writer, day: int, tokens: int) -> None:
    """Count tokens of pending work; those of another day are dropped."""
    writer.share()
    _set(writer, _SETTLE_TOKENS, settle_tokens(writer, day) + tokens)
    _set(writer, _SETTLE_DAY, day)


def note_copies(writer: Writer) -> None:
    """Note that a space has copies of entries of another one."""
    writer.share()
    _set(writer, _COPIES, 1)


def queue_scrub(writer: Writer, space: int) -> None:
    """Note that erased text may be in the bytes of the file until it has been scrubbed."""
    work.enqueue(writer, space, SCRUB, [secrets.randbits(_MARK_BITS)])


@dataclass(frozen=True, slots=True)
class DueScrub:
    """A scrubbing: the marks of work that it ends, removed spaces, and the tables to scrub."""

    marks: Sequence[tuple[int, int]]
    removed: Sequence[int]
    tables: frozenset[str]


def due_scrub(reader: Reader, tables: Collection[str]) -> DueScrub:
    """Return the scrubbing of ``tables``, those of other packages, and those of removed spaces."""
    removed = removed_spaces(reader)
    foreign = {table.name for table in reader.tables(FOREIGN)}
    of_spaces = SPACE_TABLES if removed else ()
    return DueScrub(pending_scrubs(reader), removed, frozenset((*tables, *foreign, *of_spaces)))


def pending_scrubs(reader: Reader) -> list[tuple[int, int]]:
    """Return the marks of scrubbings that are due, of all spaces: space and target."""
    # Space by space, because the index begins with it: otherwise it reads all pending work.
    rows = reader.rows(
        "SELECT space, target FROM work WHERE space IN (SELECT id FROM space) AND view = ?",
        (SCRUB,),
    )
    return [(int(row[0]), int(row[1])) for row in rows]


def removed_spaces(reader: Reader) -> list[int]:
    """Return the numbers of removed spaces whose bytes may still be in the file."""
    rows = reader.rows("SELECT id FROM space WHERE instr(name, ?) = 1", (UNNAMED,))
    return [int(row[0]) for row in rows]


def end_scrub(writer: Writer, scrub: DueScrub, *, rewritten: bool) -> None:
    """Take the marks of a scrubbing off, and drop removed spaces; ``rewritten``: the whole file."""
    writer.share()
    # Scrubbing stores no errors, so a mark has no other row.
    writer.many(
        "DELETE FROM work WHERE space = ? AND view = ? AND target = ?",
        ((space, SCRUB, target) for space, target in scrub.marks),
    )
    if rewritten:
        writer.execute("DELETE FROM storage WHERE name = ?", (_REWRITE,))
    if scrub.removed:
        writer.many(
            "DELETE FROM space WHERE id = ? AND instr(name, ?) = 1"
            " AND NOT EXISTS (SELECT 1 FROM work WHERE space = ?)",
            ((space, UNNAMED, space) for space in scrub.removed),
        )


def _value(reader: Reader, name: str) -> int:
    row = reader.row("SELECT value FROM storage WHERE name = ?", (name,))
    return int(row[0]) if row else 0


def _set(writer: Writer, name: str, value: int) -> None:
    writer.execute(
        "INSERT INTO storage (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


def blank_space(writer: Writer, space: int) -> None:
    """Overwrite what the rows of a space say, before these are deleted as a whole."""
    for table, (columns, rows) in _OF_SPACE.items():
        ids = [int(row[0]) for row in writer.rows(rows, (space,))]
        writer.blank(table, columns, space, ids)
    for column in ("name", "path", "document"):
        labels = writer.rows(f"SELECT {column} FROM source WHERE space = ?", (space,))
        sources.blank_labels(writer, space, [row[0] for row in labels])


class SharedScrubs:
    """The scrubbings of one database that several threads ask for: one thread runs them all.

    A scrubbing counts for every thread that asked before it began, because the erasing
    transactions of those threads had ended.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()  # protects the next scrubbing
        self._next = _Scrub()

    def run(self, tables: Collection[str], scrub: Callable[[Collection[str]], bool]) -> bool:
        """Return the result of a scrubbing of the tables that begins after this call.

        ``scrub`` does it. Every thread that waits for it raises the error that ``scrub`` raises.
        If the thread that scrubs is interrupted, another one scrubs.
        """
        with self._lock:
            mine = self._next
            mine.tables += tables
        with self._turn:
            with self._lock:
                if self._next is mine:
                    self._next = _Scrub()
            if mine.outcome is None:
                try:
                    mine.outcome = scrub(frozenset(mine.tables))
                except Exception as error:
                    mine.outcome = error
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        return mine.outcome


class _Scrub:
    """A scrubbing that threads wait for; the outcome is None until it has ended."""

    def __init__(self) -> None:
        self.tables: list[str] = []
        self.outcome: bool | Exception | None = None
