"""A new file is made from the newest tables at once, and is what the migrations make."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tools import generate_schema
from treering.journal import schema
from treering.journal.sqlite import SqliteDatabase


def test_the_newest_tables_are_what_the_migrations_leave_behind() -> None:
    committed = generate_schema.FILE.read_text("utf-8")
    assert committed == generate_schema.generate(), "run: python -m tools.generate_schema"


def test_a_new_file_has_the_same_tables_rows_and_version_as_one_with_a_history(
    tmp_path: Path,
) -> None:
    new, old = tmp_path / "new.db", tmp_path / "old.db"
    SqliteDatabase(new).close()
    generate_schema.live_through_history(old)
    assert list(generate_schema.statements(new)) == list(generate_schema.statements(old))
    assert contents(new) == contents(old)


def test_a_file_that_a_newer_treering_has_changed_meanwhile_keeps_its_version(
    tmp_path: Path,
) -> None:
    with closing(SqliteDatabase(tmp_path / "memory.db")) as database:
        newer = schema.newest() + 1
        with database.write() as writer:
            writer.execute(f"PRAGMA user_version={newer}")
            schema.bring_up_to_date(writer)
            assert schema.version(writer) == newer


def contents(path: Path) -> list[object]:
    """All rows of a file, and the numbers in its head that say what it is."""
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        rows = [
            (name, row)
            for (name,) in sorted(tables)
            for row in connection.execute(f'SELECT * FROM "{name}"')
        ]
        head = [
            connection.execute(f"PRAGMA {name}").fetchone()
            for name in ("user_version", "application_id")
        ]
    assert head[0] == (schema.newest(),)
    return [*rows, *head]
