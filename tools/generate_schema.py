"""Write ``treering/journal/schema.sql``, the tables of a new file, from the migrations.

Run as ``python -m tools.generate_schema`` after adding one. A test compares the two.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from treering.journal import first_look, schema
from treering.journal.sqlite import SqliteDatabase

FILE = Path(__file__).resolve().parent.parent / "treering" / "journal" / "schema.sql"
HEADING = (
    "-- The tables of a new file, made from the migrations by `python -m tools.generate_schema`;\n"
    "-- the migrations say what each is for.\n"
)


def live_through_history(path: Path) -> None:
    """Make a file as if it had been opened by every version of treering."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, schema.newest())
    SqliteDatabase(path).close()  # which takes over what is laid out as it once was


def migrate(connection: sqlite3.Connection, newest: int) -> None:
    """Make an empty file one of the treering whose newest migration had that number."""
    # A table that is given another name must not take along what refers to it.
    connection.execute("PRAGMA legacy_alter_table=ON")
    for statements in schema.migrations()[:newest]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version={newest}")
    connection.execute(f"PRAGMA application_id={first_look.APPLICATION_ID}")


def statements(path: Path) -> Iterator[str]:
    """What makes the tables and indexes of a file, in the order in which they were made, and tells
    SQLite of their sizes."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
            " ORDER BY rowid"
        ).fetchall()
        statistics = connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1").fetchall()
    yield from (f"{sql};\n" for (sql,) in rows)
    values = ",\n    ".join(
        f"('{table}', '{index}', '{stat}')" for table, index, stat in statistics
    )
    yield "ANALYZE sqlite_schema;\n"
    yield f"INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES\n    {values};\n"
    yield "ANALYZE sqlite_schema;\n"


def generate() -> str:
    """The script."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "life.db"
        live_through_history(path)
        return HEADING + "\n" + "\n".join(statements(path))


if __name__ == "__main__":
    FILE.write_text(generate(), "utf-8")
