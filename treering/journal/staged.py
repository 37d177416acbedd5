"""Staged imports: slices of an import that is too large for one transaction.

A slice is overwritten in place. The blank rows are deleted when no slice waits any more: until then
SQLite could move a row with text, and leave a copy of it behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treering.journal import leases, storage
from treering.journal.contract import Database, Reader, Writer
from treering.journal.quota import Size


@dataclass(frozen=True, slots=True)
class StagedImport:
    """An import that is staged for the space of a name, and the attempt that works on it.

    ``plan`` is how its entries are to be taken in, once all of its slices are here; else None.
    """

    id: int
    space: str
    attempt: int
    plan: str | None = None


def abandoned_spaces(database: Database) -> list[str]:
    """The spaces, be they there or not, with imports whose process is gone."""
    with database.read() as reader:
        names = [str(row[0]) for row in reader.rows("SELECT DISTINCT space FROM intake")]
    return [name for name in names if abandoned_imports(database, name)]


def abandoned_imports(database: Database, space: str) -> list[StagedImport]:
    """The imports into a space whose process is gone."""
    return [each for each, is_at_work in _all(database, space) if not is_at_work]


def is_under_way(database: Database, space: str) -> bool:
    """Return whether a process is importing into the space of that name now."""
    return any(is_at_work for _, is_at_work in _all(database, space))


def _all(database: Database, space: str) -> list[tuple[StagedImport, bool]]:
    """The imports into a space, and whether their process is at work."""
    with database.read(space) as reader:
        rows = list(
            reader.rows(
                "SELECT id, attempt, whole, plan, presence FROM intake WHERE space = ? ORDER BY id",
                (space,),
            )
        )
    return [
        (
            StagedImport(int(identity), space, int(attempt), str(plan) if whole else None),
            leases.is_at_work(database, int(presence), int(attempt)),
        )
        for identity, attempt, whole, plan, presence in rows
    ]


def begin(writer: Writer, space: str, presence: int, attempt: int, plan: str) -> StagedImport:
    """Note that an import into a space begins."""
    identity = writer.insert(
        "INSERT INTO intake (space, presence, attempt, plan) VALUES (?, ?, ?, ?)",
        (space, presence, attempt, plan),
    )
    return StagedImport(identity, space, attempt)


def hold(writer: Writer, mine: StagedImport, presence: int, attempt: int | None = None) -> bool:
    """Note which process works on an import; a new ``attempt`` takes it over.

    Return False if another attempt has it by now, or if it went with its space.
    """
    held = writer.execute(
        "UPDATE intake SET presence = ?, attempt = ? WHERE space = ? AND id = ? AND attempt = ?",
        (presence, attempt or mine.attempt, mine.space, mine.id, mine.attempt),
    )
    return held > 0


def put(writer: Writer, mine: StagedImport, items: bytes) -> None:
    """Stage a slice."""
    writer.execute("INSERT INTO intake_slice (intake, items) VALUES (?, ?)", (mine.id, items))


def set_whole(writer: Writer, mine: StagedImport) -> None:
    """Note that all slices are here."""
    values = (mine.space, mine.id)
    writer.execute("UPDATE intake SET whole = 1 WHERE space = ? AND id = ?", values)


def reserve(writer: Writer, mine: StagedImport, size: Size) -> None:
    """Note that the space will hold so much more once an import is stored."""
    writer.execute(
        "UPDATE intake SET entries = entries + ?, bytes = bytes + ? WHERE space = ? AND id = ?",
        (*size, mine.space, mine.id),
    )


def release(writer: Writer, mine: StagedImport, size: Size) -> None:
    """Note that so much of an import is stored, and reserved no longer."""
    writer.execute(
        "UPDATE intake SET entries = CASE WHEN entries > ? THEN entries - ? ELSE 0 END,"
        " bytes = CASE WHEN bytes > ? THEN bytes - ? ELSE 0 END WHERE space = ? AND id = ?",
        (size.entries, size.entries, size.bytes, size.bytes, mine.space, mine.id),
    )


def next_slice(reader: Reader, mine: StagedImport, after: int) -> tuple[int, bytes] | None:
    """Number and content of the first slice that waits, of those numbered above ``after``."""
    row = reader.row(
        f"SELECT id, items FROM intake_slice WHERE {reader.dialect.in_heap_of_space}"
        " AND intake = ? AND id > ? AND NOT taken ORDER BY id LIMIT 1",
        (mine.space, mine.id, after),
    )
    return None if row is None else (int(row[0]), bytes(row[1]))


def waiting_slices(reader: Reader, mine: StagedImport) -> list[int]:
    """The numbers of the slices that wait."""
    rows = reader.rows(
        f"SELECT id FROM intake_slice WHERE {reader.dialect.in_heap_of_space}"
        " AND intake = ? AND NOT taken ORDER BY id",
        (mine.space, mine.id),
    )
    return [int(row[0]) for row in rows]


def blank(writer: Writer, space: str, slices: Sequence[int]) -> None:
    """Overwrite slices; they wait no longer."""
    writer.blank("intake_slice", ("items",), space, slices)
    writer.many(
        f"UPDATE intake_slice SET taken = TRUE WHERE {writer.dialect.in_heap_of_space} AND id = ?",
        ((space, slice_) for slice_ in slices),
    )


def end(writer: Writer, mine: StagedImport) -> None:
    """Note that nothing of an import waits any more."""
    writer.execute("DELETE FROM intake WHERE space = ? AND id = ?", (mine.space, mine.id))


def drop(writer: Writer, space: str) -> None:
    """Overwrite all that is staged for the space of a name, and end its imports."""
    for row in list(writer.rows("SELECT id, attempt FROM intake WHERE space = ?", (space,))):
        each = StagedImport(int(row[0]), space, int(row[1]))
        blank(writer, space, waiting_slices(writer, each))
        end(writer, each)


def is_there(reader: Reader, space: str) -> bool:
    """Whether an import into the space of a name is under way, or was cut short."""
    return reader.row("SELECT 1 FROM intake WHERE space = ?", (space,)) is not None


def is_any_left(reader: Reader, space: str) -> bool:
    """Whether something is being taken in into a space, was cut short, or has left blank slices."""
    slices = f"SELECT 1 FROM intake_slice WHERE {reader.dialect.in_heap_of_space}"
    sql = f"SELECT 1 WHERE EXISTS (SELECT 1 FROM intake WHERE space = ?) OR EXISTS ({slices})"
    return reader.row(sql, (space, space)) is not None


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
