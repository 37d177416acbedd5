"""Removing a space as a whole: its rows in every table, its name, the keys that open only it, and
what waits to be taken in.

The tables are asked of the database, not listed: those of views of other packages are among them.
What is left at first is a row without the name. It keeps the rewriting of the file queued, since
the erased bytes are in it until then, and goes when that is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from treering.journal import work
from treering.journal.contract import Reader, Writer
from treering.journal.space import UNNAMED

SCRUB = "scrub"
"""Work left when the file could not be rewritten: erased rows may still be in its bytes."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A column of a table that holds a number of a row of another table."""

    table: str
    column: str
    target: str
    target_column: str


def remove(writer: Writer, space: int, name: str) -> dict[str, int]:
    """Delete all rows of a space, by its number and its name; return how many went, by table."""
    # Rows refer to each other in every direction: what must agree is looked at when all are gone.
    writer.execute("PRAGMA defer_foreign_keys = ON")
    tables = list(_tables(writer))
    links = [link for table in tables for link in _links(writer, table)]
    gone: Counter[str] = Counter()
    # Most tables have the number of the space; keys, and what waits to be taken in, have its name.
    for value in (space, name):
        own = {table for table in tables if _has_space(writer, table, type(value))}
        for table in sorted(set(tables) - own):
            for condition in _conditions(table, own, links):
                gone[table] += writer.execute(f'DELETE FROM "{table}" WHERE {condition}', (value,))
        for table in own:
            gone[table] += writer.execute(f'DELETE FROM "{table}" WHERE space = ?', (value,))
    writer.execute(
        "UPDATE space SET name = ?, model = NULL, next = NULL, settings = '{}' WHERE id = ?",
        (f"{UNNAMED}{space}", space),
    )
    work.enqueue(writer, space, SCRUB, [0])
    return {table: count for table, count in gone.items() if count}


def waits(reader: Reader) -> bool:
    """Whether a space was removed whose bytes may still be in the file."""
    row = reader.row("SELECT 1 FROM space WHERE instr(name, ?) = 1", (UNNAMED,))
    return row is not None


def finish(writer: Writer) -> None:
    """Drop what was left of removed spaces, once the file has been rewritten."""
    removed = "SELECT id FROM space WHERE instr(name, ?) = 1"
    writer.execute(f"DELETE FROM work WHERE space IN ({removed})", (UNNAMED,))
    writer.execute("DELETE FROM space WHERE instr(name, ?) = 1", (UNNAMED,))


def is_named(reader: Reader, name: str) -> bool:
    """Whether anything that is left in the file holds the name of a removed space."""
    places = {
        "entry": ("text", "speaker", "session", "metadata"),
        "source": ("name", "path"),
        "space": ("name",),
        "serve_key": ("space", "label"),
    }
    return any(
        reader.row(f"SELECT 1 FROM {table} WHERE instr({column}, ?) > 0 LIMIT 1", (name,))
        for table, columns in places.items()
        for column in columns
    )


def _tables(reader: Reader) -> Iterator[str]:
    rows = reader.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return (str(row[0]) for row in list(rows) if not str(row[0]).startswith("sqlite_"))


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
