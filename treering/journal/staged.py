"""What is staged: slices of what is too large for one transaction, until they are taken in.

A slice is overwritten where it stands. The blank rows are deleted when no slice waits any more:
until then SQLite could move one that says something, and leave a copy of it behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from treering.journal import attempts, storage
from treering.journal.contract import Database, Reader, Writer

_WAITING_ANYWHERE = "SELECT 1 FROM intake_slice WHERE NOT taken LIMIT 1"


def is_under_way(database: Database, space: str) -> bool:
    """Whether somebody is taking much into the space of that name at this moment."""
    with database.read(space) as reader:
        rows = list(reader.rows("SELECT presence, attempt FROM intake WHERE space = ?", (space,)))
    return any(attempts.is_at_work(database, int(row[0]), int(row[1])) for row in rows)


def put(writer: Writer, intake: int, items: bytes) -> bool:
    """Stage a slice. False if the space was removed meanwhile."""
    put_in = writer.execute(
        "INSERT INTO intake_slice (intake, items) SELECT id, ? FROM intake WHERE id = ?",
        (items, intake),
    )
    return bool(put_in)


def set_whole(writer: Writer, intake: int) -> bool:
    """Note that all slices are here. False if the space was removed meanwhile."""
    return bool(writer.execute("UPDATE intake SET whole = 1 WHERE id = ?", (intake,)))


def next_slice(reader: Reader, intake: int, after: int) -> tuple[int, bytes] | None:
    """Number and content of the first slice that waits, of those numbered above ``after``."""
    row = reader.row(
        "SELECT id, items FROM intake_slice WHERE intake = ? AND id > ? AND NOT taken"
        " ORDER BY id LIMIT 1",
        (intake, after),
    )
    return None if row is None else (int(row[0]), bytes(row[1]))


def waiting(reader: Reader, intake: int) -> list[int]:
    """The numbers of the slices that wait."""
    rows = reader.rows(
        "SELECT id FROM intake_slice WHERE intake = ? AND NOT taken ORDER BY id", (intake,)
    )
    return [int(row[0]) for row in rows]


def blank(writer: Writer, slices: Sequence[int]) -> None:
    """Overwrite slices; they wait no longer."""
    writer.blank("intake_slice", ("items",), slices)
    writer.many(
        "UPDATE intake_slice SET taken = TRUE WHERE id = ?", ((slice_,) for slice_ in slices)
    )


def end(writer: Writer, intake: int) -> bool:
    """Note that nothing of an intake waits any more. False if its space was removed meanwhile."""
    return bool(writer.execute("DELETE FROM intake WHERE id = ?", (intake,)))


def has_blank(reader: Reader) -> bool:
    """Whether there are blank slices that can be deleted."""
    return (
        reader.row(_WAITING_ANYWHERE) is None
        and reader.row("SELECT 1 FROM intake_slice LIMIT 1") is not None
    )


def drop_blank(writer: Writer) -> None:
    """Delete the first blank slice if none waits anywhere."""
    if writer.row(_WAITING_ANYWHERE) is not None:
        return
    row = writer.row("SELECT id, length(items) FROM intake_slice WHERE taken ORDER BY id LIMIT 1")
    if row is not None:
        writer.execute("DELETE FROM intake_slice WHERE id = ?", (row[0],))
        storage.add_blanked(writer, -int(row[1]))
