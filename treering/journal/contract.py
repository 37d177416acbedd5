"""The contract of a database: what treering needs of it; one file per backend.

Statements are SQL with ``?`` placeholders, as both SQLite and PostgreSQL understand it. A list of
numbers or texts is one parameter, as JSON, in ``IN (SELECT value FROM json_each(?))``; ``instr``,
``zeroblob`` and ``CAST(… AS BLOB)`` are understood everywhere, too, and so are SQLite's types in
``CREATE TABLE``. What goes beyond is asked of the reader's ``dialect``. Views keep their tables in
the same database: an entry and the work it causes become durable in one transaction.

A statement names the space beside each number: on a server every key begins with it. Heaps are the
tables whose rows a file overwrites in place; they have no column of it there. So an engine that
has one adds it to ``body b ON b.id = e.body`` and the like, of ``body`` and ``label``; statements
on other heaps ask the dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar

T = TypeVar("T")

NO_SPACE: Final = "a transaction of the whole database was asked for the number of its space"

Row = Sequence[Any]
Value = None | int | float | str | bytes

SCRUB_WAIT_S: Final = 2.0
"""Scrubbing waits no longer for readers and writers: it can be done later."""

RowKey = tuple[int | str, int]
"""The space of a row and its number. What waits to be taken in has the name of its space."""

Outcome = Literal["undone", "stored", "unknown"]
"""What becomes of a transaction that ends now. Until it is told to commit, nothing of it stays."""

Patch = tuple[int, bytes]
"""Bytes of a value that are overwritten: where they begin in it, and what stands there then."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A column that holds a key of another table's row; ``target_column`` is that key."""

    column: str
    target: str
    target_column: str


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table as the database has it: its columns, of which some are texts, and its references."""

    name: str
    columns: tuple[str, ...]
    texts: frozenset[str]
    references: tuple[ForeignKey, ...]


Param = str | int | float
SqlCondition = tuple[str, list[Param]]
"""A condition with its parameters."""


class Dialect:
    """The words of SQLite; another engine overrides them.

    ``alias`` names a row of ``members`` or ``elements``; literals are JSON texts.
    """

    unlocked: str = ""
    """Ends a SELECT of rows to delete, to leave out rows that other writers hold."""

    in_heap_of_space: str = "? IS NOT NULL"
    """The condition, with one parameter, that a row of a heap belongs to the space of that number.

    A heap is a table whose rows a file overwrites in place. It has no column of the space in a
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

    def elements(self, of: str, alias: str) -> str:
        """A row source with a row for each element of an array in a row ``of``."""
        return f"json_each({of}.value) {alias}"

    def kind_and_value(self, alias: str) -> str:
        """Two columns: text, integer, real, true, false, null, array or object; and the value.

        The value is a Python text or number for the first three.
        """
        return f"{alias}.type, {alias}.value"

    def joined(self, numbers: str) -> str:
        """The whole numbers of a group as one text, with commas between them."""
        return f"group_concat({numbers})"

    def is_array(self, alias: str) -> str:
        """The condition that a value is an array."""
        return f"{alias}.type = 'array'"

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
        """What the engine of this database writes differently."""
        ...

    @property
    def space(self) -> int:
        """The number of the space that the transaction is of; 0 while that has no row.

        Raises JournalError in one of the whole database.
        """
        ...

    def rows(self, sql: str, params: Sequence[Value] = ()) -> Iterator[Row]:
        """The rows of a query, fetched as they are consumed."""
        ...

    def row(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        """The first row of a query, or None."""
        ...

    def part(self, table: str, key: RowKey, start: int, size: int) -> bytes:
        """``size`` bytes of a large value, or as many as it has there; none if it is missing."""
        ...

    def extent(self, table: str, key: RowKey) -> int | None:
        """How many bytes a large value has; None if it is missing."""
        ...

    def tables(self, prefix: str = "") -> list[StoredTable]:
        """The tables whose names begin with ``prefix``, by name; case does not matter."""
        ...


class Writer(Reader, Protocol):
    """A transaction that is writing. It commits as a whole or leaves no trace."""

    @property
    def outcome(self) -> Outcome:
        """What has become of it, for whoever was interrupted while it ended."""
        ...

    def execute(self, sql: str, params: Sequence[Value] = ()) -> int:
        """Run a statement; return how many rows it changed."""
        ...

    def insert(self, sql: str, params: Sequence[Value]) -> int:
        """Run an INSERT; return the id of the new row."""
        ...

    def insert_many(self, sql: str, params: Iterable[Sequence[Value]]) -> list[int]:
        """Run an INSERT once per parameter row; return the ids of the new rows, in their order."""
        ...

    def many(self, sql: str, params: Iterable[Sequence[Value]]) -> None:
        """Run a statement once per parameter row."""
        ...

    def allot(self, table: str, size: int, space: int, identity: int | None = None) -> int:
        """Make a large value of so many zeros, as column ``data``, in a space; return its id.

        Without an ``identity`` it is given the next one of its table.
        """
        ...

    def patch(self, table: str, key: RowKey, patches: Sequence[Patch]) -> None:
        """Overwrite parts of a large value where it stands; it keeps its size.

        Raises JournalCorrupt if it is missing or too short.
        """
        ...

    def vector_numbers(self, size: int) -> Sequence[int]:
        """New numbers for vectors, ascending, above all that were ever given away."""
        ...

    def share(self) -> None:
        """Keep others who call this out until the transaction ends.

        Called before rows are written that spaces share; then writers of two spaces never wait for
        each other in a ring.
        """
        ...

    def blank(
        self, table: str, columns: Sequence[str], space: int | str, ids: Sequence[int]
    ) -> None:
        """Overwrite columns of rows where they stand, with as many bytes that say nothing.

        For tables whose rows are appended and never deleted or resized: of what stood in such a
        row the storage keeps no copy once ``Database.scrub`` has succeeded. Where a database never
        overwrites anything in place, the rows go instead.
        """
        ...

    def attempt(self) -> AbstractContextManager[None]:
        """A part of the transaction that leaves no trace if the block raises; never nested."""
        ...

    def defer_references(self) -> None:
        """Check what rows refer to when the transaction ends, not statement by statement."""
        ...


class Database(Protocol):
    """A database file or server. Safe to use from many threads at once."""

    url: str

    @property
    def file(self) -> Path | None:
        """The file, by the path that it had when it was opened; None in a server."""
        ...

    @property
    def limit(self) -> int | None:
        """Fragments of a space that are held in main memory at most; None where all are.

        The terms and vectors of a larger space are looked up in the database.
        """
        ...

    def read(self, space: str | None = None) -> AbstractContextManager[Reader]:
        """A read transaction: everything seen inside is one state.

        Where a database can keep rows of others from it, it sees those of the ``space`` of that
        name alone; of all spaces without a name.
        """
        ...

    def write(
        self, space: str | None = None, *, derived: bool = False
    ) -> AbstractContextManager[Writer]:
        """A write transaction, durable once the block has ended without an exception.

        With ``derived``, of what can be derived again from earlier transactions, a file does not
        wait for the disk: after a loss of power it may be missing, as a whole.

        It sees what ``read`` does. Where a database lets several write at once, this one is alone
        in the ``space`` of that name, and writes nothing of others; without a name it is alone in
        the whole database.

        Raises JournalBusy when another writer does not finish in time, JournalFull when there is
        no space, JournalCorrupt when the file is damaged.
        """
        ...

    def write_together(self, work: Callable[[Writer], T], space: str | None = None) -> T:
        """The result of ``work`` in a write transaction that other threads' work may share.

        ``space`` is that of ``write``.

        Each work stands alone: what it raises undoes only itself, and is raised here. It may be
        done by another thread, and more than once, so it uses nothing but the writer it is given.
        Raises what ``write`` raises.
        """
        ...

    def scrub(
        self, tables: Collection[str], *, patient: bool = False, wait_s: float = SCRUB_WAIT_S
    ) -> bool:
        """Remove from the storage what was blanked anywhere, and what was deleted from ``tables``.

        True once nothing of it is left. False if readers or writers of other processes prevented
        it for ``wait_s`` seconds, or if the whole storage has to be rewritten for it, which only a
        ``patient`` call does. Calls of several threads are done together. Raises JournalFull.
        """
        ...

    def presence(self) -> int:
        """A number that stands for this process until it ends or closes the database.

        Raises JournalError.
        """
        ...

    def is_present(self, number: int) -> bool:
        """Whether the process of a ``presence`` still has the database open, wherever it runs.

        Raises JournalError.
        """
        ...

    def task(self, name: str, wait_s: float = 0.0) -> AbstractContextManager[bool]:
        """The right to do a piece of work during the block; False if another has it for ``wait_s``.

        It saves processes from doing the same work twice. That would only cost time, because every
        transaction checks what it stores. The right ends with the process, however that ends. A
        file gives it to every process.
        """
        ...

    def size(self) -> int:
        """Bytes on disk."""
        ...

    def check(self) -> list[str]:
        """Problems found by an integrity check; empty if there are none."""
        ...

    def reindex(self) -> None:
        """Make all indexes anew from the tables."""
        ...

    def close(self) -> None:
        """Close every connection; a second call does nothing."""
        ...
