"""What is staged: slices of what is too large for one transaction, until they are taken in.

A slice is overwritten where it stands. The blank rows are deleted when no slice waits any more:
until then SQLite could move one that says something, and leave a copy of it behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from treering.journal import attempts, storage
from treering.journal.contract import Database, Reader, Writer


def is_under_way(database: Database, space: str) -> bool:
    """Whether somebody is taking much into the space of that name at this moment."""
    with database.read(space) as reader:
        rows = list(reader.rows("SELECT presence, attempt FROM intake WHERE space = ?", (space,)))
    return any(attempts.is_at_work(database, int(row[0]), int(row[1])) for row in rows)


def put(writer: Writer, space: str, intake: int, items: bytes) -> bool:
    """Stage a slice. False if the space was removed meanwhile."""
    put_in = writer.execute(
        "INSERT INTO intake_slice (intake, items) SELECT id, ? FROM intake"
        " WHERE space = ? AND id = ?",
        (items, space, intake),
    )
    return bool(put_in)


def set_whole(writer: Writer, space: str, intake: int) -> bool:
    """Note that all slices are here. False if the space was removed meanwhile."""
    return bool(
        writer.execute("UPDATE intake SET whole = 1 WHERE space = ? AND id = ?", (space, intake))
    )


def next_slice(reader: Reader, space: str, intake: int, after: int) -> tuple[int, bytes] | None:
    """Number and content of the first slice that waits, of those numbered above ``after``."""
    row = reader.row(
        f"SELECT id, items FROM intake_slice WHERE {reader.dialect.in_heap_of_space}"
        " AND intake = ? AND id > ? AND NOT taken ORDER BY id LIMIT 1",
        (space, intake, after),
    )
    return None if row is None else (int(row[0]), bytes(row[1]))


def waiting(reader: Reader, space: str, intake: int) -> list[int]:
    """The numbers of the slices that wait."""
    rows = reader.rows(
        f"SELECT id FROM intake_slice WHERE {reader.dialect.in_heap_of_space}"
        " AND intake = ? AND NOT taken ORDER BY id",
        (space, intake),
    )
    return [int(row[0]) for row in rows]


def blank(writer: Writer, space: str, slices: Sequence[int]) -> None:
    """Overwrite slices; they wait no longer."""
    writer.blank("intake_slice", ("items",), space, slices)
    writer.many(
        f"UPDATE intake_slice SET taken = TRUE WHERE {writer.dialect.in_heap_of_space} AND id = ?",
        ((space, slice_) for slice_ in slices),
    )


def end(writer: Writer, space: str, intake: int) -> bool:
    """Note that nothing of an intake waits any more. False if its space was removed meanwhile."""
    return bool(writer.execute("DELETE FROM intake WHERE space = ? AND id = ?", (space, intake)))


def is_any_left(reader: Reader, space: str) -> bool:
    """Whether something is being taken in into a space, was cut short, or has left blank slices."""
    row = reader.row(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM intake WHERE space = ?)"
        f" OR EXISTS (SELECT 1 FROM intake_slice WHERE {reader.dialect.in_heap_of_space})",
        (space, space),
    )
    return row is not None


def has_blank(reader: Reader, space: str) -> bool:
    """Whether there are blank slices that can be deleted."""
    of_space = reader.dialect.in_heap_of_space
    row = reader.row(f"SELECT 1 FROM intake_slice WHERE {of_space} LIMIT 1", (space,))
    return row is not None and not _is_any_waiting(reader, space)


def _is_any_waiting(reader: Reader, space: str) -> bool:
    """Whether a slice waits: of the space, or of any in a file, whose rows could move."""
    of_space = reader.dialect.in_heap_of_space
    sql = f"SELECT 1 FROM intake_slice WHERE {of_space} AND NOT taken LIMIT 1"
    return reader.row(sql, (space,)) is not None


def drop_blank(writer: Writer, space: str) -> None:
    """Delete the first blank slice if none waits."""
    if _is_any_waiting(writer, space):
        return
    of_space = writer.dialect.in_heap_of_space
    row = writer.row(
        "SELECT id, length(items) FROM intake_slice"
        f" WHERE {of_space} AND taken ORDER BY id LIMIT 1",
        (space,),
    )
    if row is not None:
        writer.execute(f"DELETE FROM intake_slice WHERE {of_space} AND id = ?", (space, row[0]))
        storage.add_blanked(writer, -int(row[1]))
