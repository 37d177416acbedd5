"""Removing a space as a whole: its rows in every table, its name, the keys that open only it, and
what waits to be taken in.

The tables are asked of the database, not listed: those of views of other packages are among them.
What users wrote is overwritten where it stands; those tables have no column of a space. What is
left at first is a row without the name. It keeps the scrubbing of the file queued, since the erased
bytes are in it until then, and goes when that is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from treering.journal import staged, storage, vector_blocks
from treering.journal.contract import Reader, Writer
from treering.journal.space import UNNAMED, all_models


@dataclass(frozen=True, slots=True)
class _Link:
    """A column of a table that holds a number of a row of another table."""

    table: str
    column: str
    target: str
    target_column: str


def remove(writer: Writer, space: int, name: str) -> dict[str, int]:
    """Delete all rows of a space, by its number and its name; return how many went, by table."""
    storage.blank_space(writer, space)
    for model in all_models(writer):
        vector_blocks.drop(writer, space, model)
    _drop_staged(writer, name)
    # Rows refer to each other in every direction: what must agree is looked at when all are gone.
    writer.execute("PRAGMA defer_foreign_keys = ON")
    names = tables(writer)
    links = [link for table in names for link in _links(writer, table)]
    gone: Counter[str] = Counter()
    # Most tables have the number of the space; keys, and what waits to be taken in, have its name.
    for value in (space, name):
        own = {table for table in names if _has_space(writer, table, type(value))}
        for table in sorted(set(names) - own):
            for condition in _conditions(table, own, links):
                gone[table] += writer.execute(f'DELETE FROM "{table}" WHERE {condition}', (value,))
        for table in own:
            gone[table] += writer.execute(f'DELETE FROM "{table}" WHERE space = ?', (value,))
    writer.execute(
        "UPDATE space SET name = ?, model = NULL, next = NULL, settings = '{}' WHERE id = ?",
        (f"{UNNAMED}{space}", space),
    )
    storage.queue_scrub(writer, space)
    return {table: count for table, count in gone.items() if count}


def waiting(reader: Reader) -> list[int]:
    """The numbers of removed spaces whose bytes may still be in the file."""
    rows = reader.rows("SELECT id FROM space WHERE instr(name, ?) = 1", (UNNAMED,))
    return [int(row[0]) for row in rows]


def finish(writer: Writer, spaces: Iterable[int]) -> None:
    """Drop what was left of removed spaces, once the file has been scrubbed."""
    writer.many(
        "DELETE FROM space WHERE id = ? AND instr(name, ?) = 1"
        " AND NOT EXISTS (SELECT 1 FROM work WHERE space = ?)",
        ((space, UNNAMED, space) for space in spaces),
    )


def _drop_staged(writer: Writer, name: str) -> None:
    """Overwrite the slices that wait for a space of a name, and forget about them."""
    intakes = [int(r[0]) for r in writer.rows("SELECT id FROM intake WHERE space = ?", (name,))]
    for intake in intakes:
        staged.blank(writer, staged.waiting(writer, intake))
        staged.end(writer, intake)


def tables(reader: Reader) -> list[str]:
    """The tables of the file, those of views of other packages among them."""
    rows = reader.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [str(row[0]) for row in rows if not str(row[0]).startswith("sqlite_")]


def _has_space(reader: Reader, table: str, form: type[int | str]) -> bool:
    """Whether the rows of a table have the number of their space, or its name."""
    row = reader.row("SELECT type FROM pragma_table_info(?) WHERE name = 'space'", (table,))
    return row is not None and (row[0] == "TEXT") == (form is str)


def _links(reader: Reader, table: str) -> Iterator[_Link]:
    rows = reader.rows(
        'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (table,)
    )
    # A link that names no column is one to the key of the other table.
    return (_Link(table, str(row[0]), str(row[1]), str(row[2] or "rowid")) for row in list(rows))


def _conditions(
    table: str, own: set[str], links: list[_Link], passed: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Conditions, with one parameter, for the rows that belong to rows of a space."""
    if table in own:
        yield "space = ?"
        return
    for link in links:
        if link.table == table and link.target not in {*passed, table, "model", "space"}:
            for of_target in _conditions(link.target, own, links, passed | {table}):
                yield (
                    f'"{link.column}" IN (SELECT "{link.target_column}" FROM "{link.target}"'
                    f" WHERE {of_target})"
                )
