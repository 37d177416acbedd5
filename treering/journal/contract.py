"""The contract of a database, with one package per engine.

Statements are SQL with ``?`` placeholders, in words that SQLite and PostgreSQL share. A list of
numbers or texts is one parameter, as JSON, in ``IN (SELECT value FROM json_each(?))``. Every engine
understands ``instr``, ``zeroblob``, ``CAST(… AS BLOB)`` and SQLite's types in ``CREATE TABLE``.
``Dialect`` has the other words. Views keep their tables in the same database, so that an entry and
its pending work become durable in one transaction.

A statement names the space beside each number, because on a server every key begins with it. Heaps
are tables whose rows a file overwrites in place; in a file they lack the column of the space. An
engine with such a column adds it to joins with ``body`` and ``label``; statements on other heaps
ask the dialect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from treering.journal.ledger import Quota

NO_SPACE: Final = "a transaction of the whole database has no number of a space"

Row = Sequence[Any]
Value = None | int | float | str | bytes

SCRUB_WAIT_S: Final = 2.0
"""Scrubbing waits no longer for readers and writers: it can be done later."""

RowKey = tuple[int | str, int]
"""The space of a row and its number. Staged imports have the name of their space."""

Patch = tuple[int, bytes]
"""Bytes that overwrite a part of a value, and where they begin in it."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table of the database; ``texts`` are the columns that hold texts."""

    name: str
    columns: tuple[str, ...]
    texts: frozenset[str]


Param = str | int | float
SqlCondition = tuple[str, list[Param]]
"""A condition with its parameters."""


class Dialect:
    """The words of SQLite; another engine overrides them.

    ``alias`` names a row of ``members``; literals are JSON texts.
    """

    unlocked: str = ""
    """Ends a SELECT of rows to delete, to leave out rows that other writers hold."""

    in_heap_of_space: str = "? IS NOT NULL"
    """The condition, with one parameter, that a row of a heap belongs to the space of that number.

    A heap is a table whose rows a file overwrites in place. It lacks the column of the space in a
    file, where the number of a row is enough.
    """

    entry_indexes: tuple[Sequence[str], Sequence[str]] = (
        ("entry_by_space", "sqlite_autoindex_entry_1"),  # the latter of UNIQUE (space, id)
        ("entry_by_position", "sqlite_autoindex_entry_2"),  # the latter of UNIQUE (source, digest)
    )
    """Indexes that each lead to all entries of a space, and to all of a source, to check one
    against the other. Empty for an engine that checks its indexes itself."""

    # Equality is that of JSON texts: type and value must agree, since 1 is not true.
    _EQUALS: Final = (
        "CASE {0}.type WHEN 'text' THEN json_quote({0}.value) WHEN 'true' THEN 'true'"
        " WHEN 'false' THEN 'false' WHEN 'null' THEN 'null' ELSE {0}.value END"
        " = CASE WHEN json_type(?) IN ('integer', 'real') THEN json_extract(?, '$')"
        " WHEN json_type(?) = 'text' THEN json_quote(json_extract(?, '$')) ELSE ? END"
    )

    def members(self, text: str, alias: str) -> str:
        """A row source with a row for each key of an object; ``alias`` has a column ``key``."""
        return f"json_each({text}) {alias}"

    def kind_and_value(self, alias: str) -> str:
        """Two columns: text, integer, real, true, false, null, array or object; and the value.

        The value is a Python text or number for the first three.
        """
        return f"{alias}.type, {alias}.value"

    def join(self, numbers: str) -> str:
        """The whole numbers of a group as one text, with commas between them."""
        return f"group_concat({numbers})"

    def holds(self, alias: str, literal: str) -> SqlCondition:
        """The condition that a value is an array with the literal among its elements."""
        equals, params = self.equals("i", literal)
        elements = f"SELECT 1 FROM json_each({alias}.value) i WHERE {equals}"
        return f"{alias}.type = 'array' AND EXISTS ({elements})", params

    def equals(self, alias: str, literal: str) -> SqlCondition:
        """The condition that a value is the literal, in type and content."""
        return self._EQUALS.format(alias), [literal] * 5

    def compares(self, alias: str, operator: str, literal: str, *, is_text: bool) -> SqlCondition:
        """The condition that a value is a text, or number, below or above the literal."""
        types = "('text')" if is_text else "('integer', 'real')"
        sql = f"{alias}.type IN {types} AND {alias}.value {operator} json_extract(?, '$')"
        return sql, [literal]


class Reader(Protocol):
    """A consistent state of the database."""

    @property
    def dialect(self) -> Dialect:
        """The words of the engine."""

    @property
    def space(self) -> int:
        """The number of the transaction's space; 0 while the space lacks a row.

        Raises JournalError in a transaction of the whole database.
        """

    def rows(self, sql: str, params: Sequence[Value] = ()) -> Iterator[Row]:
        """Return the rows of a query. A file fetches them as they are consumed."""

    def row(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        """Return the first row of a query, or None."""

    def part(self, table: str, key: RowKey, start: int, size: int) -> bytes:
        """Return up to ``size`` bytes of a large value; none if it is missing."""

    def extent(self, table: str, key: RowKey) -> int | None:
        """Return the bytes of a large value; None if it is missing."""

    def tables(self, prefix: str = "") -> list[StoredTable]:
        """Return the tables whose names begin with ``prefix``, by name; case does not matter."""


class Writer(Reader, Protocol):
    """A write transaction. It commits as a whole or leaves no trace."""

    def execute(self, sql: str, params: Sequence[Value] = ()) -> int:
        """Run a statement; return how many rows it changed."""

    def insert_many(self, sql: str, params: Iterable[Sequence[Value]]) -> list[int]:
        """Run an INSERT that ends with RETURNING and a number once per parameter row.

        Return the numbers of the new rows, in their order.
        """

    def many(self, sql: str, params: Iterable[Sequence[Value]]) -> None:
        """Run a statement once per parameter row."""

    def allot(self, table: str, size: int, space: int, identity: int | None = None) -> int:
        """Create a large value of ``size`` zeros, as column ``data``; return its id.

        Without an ``identity`` it gets the next one of its table.
        """

    def patch(self, table: str, key: RowKey, patches: Sequence[Patch]) -> None:
        """Overwrite parts of a large value in place; it keeps its size.

        Raises JournalCorrupt if it is missing or too short.
        """

    def vector_numbers(self, size: int) -> Sequence[int]:
        """Return new numbers for vectors, ascending, above all earlier ones."""

    def share(self) -> None:
        """Exclude other transactions that call this, until the transaction ends.

        Call it before writing rows that spaces share, so that writers of two spaces never wait for
        each other in a ring.
        """

    def blank(
        self, table: str, columns: Sequence[str], space: int | str, ids: Sequence[int]
    ) -> None:
        """Overwrite columns of rows in place, with as many bytes that say nothing.

        The rows of such a table are appended, and never deleted or resized. So the storage keeps no
        copy of the old content once ``Database.scrub`` has succeeded. An engine that overwrites
        nothing in place deletes the rows.
        """

    def defer_references(self) -> None:
        """Check references when the transaction ends, not after each statement."""


class Database(Protocol):
    """A database file or server. Safe to use from many threads at the same time."""

    url: str

    quota: Quota
    """How much each space may hold."""

    @property
    def file(self) -> Path | None:
        """The file, by its path when it was opened; None for a server."""

    @property
    def limit(self) -> int | None:
        """Fragments of a space held in main memory at most; None for all.

        The terms and vectors of a larger space are looked up in the database.
        """

    def read(self, space: str | None = None) -> AbstractContextManager[Reader]:
        """A read transaction: everything seen inside is one state.

        A server shows it the rows of the ``space`` of that name, or of all spaces without a name.
        """

    def write(
        self, space: str | None = None, *, derived: bool = False
    ) -> AbstractContextManager[Writer]:
        """A write transaction, durable once the block has ended without an exception.

        Rows that are ``derived`` from earlier transactions need not be durable: a file does not
        wait for the disk, and after a loss of power the transaction may be missing as a whole.

        It sees what ``read`` sees. Where several may write at the same time, it is alone in the
        ``space`` of that name and writes to no other; without a name it is alone in the database.

        Raises JournalBusy when another writer does not finish in time, JournalFull when there is
        no space, JournalCorrupt when the file is damaged.
        """

    def scrub(
        self, tables: Collection[str], *, patient: bool = False, wait_s: float = SCRUB_WAIT_S
    ) -> bool:
        """Remove blanked content, and the deleted rows of ``tables``, from the storage.

        Return True once nothing of it is left. Return False if readers or writers of other
        processes prevented it for ``wait_s`` seconds, or if the whole storage has to be rewritten
        and the call is not ``patient``. Threads that call it at the same time share one scrubbing.
        Raises JournalFull.
        """

    def presence(self) -> int:
        """Return a number of this process, valid until it ends or closes the database.

        Raises JournalError.
        """

    def is_present(self, number: int) -> bool:
        """Return whether the process of a ``presence`` has the database open, on any machine.

        Raises JournalError.
        """

    def task(self, name: str, wait_s: float = 0.0) -> AbstractContextManager[bool]:
        """The right to do a piece of work during the block; False if another has it for ``wait_s``.

        It saves processes from doing the same work twice. That would only cost time, because every
        transaction checks its rows. The right ends with the process. A file gives it to every
        process.
        """

    def size(self) -> int:
        """Return the bytes on disk."""

    def check(self) -> list[str]:
        """Return the problems that an integrity check finds."""

    def reindex(self) -> None:
        """Rebuild all indexes from the tables."""

    def close(self) -> None:
        """Close every connection; a second call does nothing."""
