"""A file as releases before version 14 wrote it: texts and vectors in rows that SQLite moves."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib import resources
from pathlib import Path

VERSION = 13
OLD = ("source", "entry", "fragment", "vector")
NEW = ("body", "label", "term_list", "vector_data", "work_error", "storage")
LATER = ("serve_closed", "reply_shown", "supersession", "intake_slice", "intake")

ROWS = {
    "source": "SELECT s.id, s.space, n.text, s.digest, p.text FROM new_source s"
    " JOIN label n ON n.id = s.name LEFT JOIN label p ON p.id = s.path",
    "entry": "SELECT e.seq, e.space, e.id, e.source, e.position, e.digest, e.kind, b.speaker,"
    " b.role, b.session, e.at, e.added, b.metadata, b.text"
    " FROM new_entry e JOIN body b ON b.id = e.body",
    "fragment": "SELECT f.id, f.space, f.entry, f.start, f.stop, t.data"
    " FROM new_fragment f JOIN term_list t ON t.id = f.terms",
    "vector": "SELECT v.id, v.model, v.space, v.fragment, d.data"
    " FROM new_vector v JOIN vector_data d ON d.id = v.id",
}


def write_back(path: Path) -> None:
    """Give a file that nobody has open the old layout."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA legacy_alter_table=ON")
        connection.execute("BEGIN")
        indexes = connection.execute(
            f"SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
            f" AND tbl_name IN ({', '.join('?' * len(OLD))})",
            OLD,
        ).fetchall()
        for (index,) in indexes:
            connection.execute(f"DROP INDEX {index}")
        for table in OLD:
            connection.execute(f"ALTER TABLE {table} RENAME TO new_{table}")
        for statement in _statements():
            connection.execute(statement)
        for table in OLD:
            connection.execute(f"INSERT INTO {table} {ROWS[table]}")
        for table in (*(f"new_{table}" for table in OLD), *NEW, *LATER):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("ALTER TABLE work ADD COLUMN error TEXT")
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")


def _statements() -> list[str]:
    """What made the old tables and their indexes."""
    script = resources.files("treering.journal").joinpath("migrations/0001_journal.sql")
    starts = [f"CREATE TABLE {table} (" for table in OLD]
    starts += [f"INDEX {table}_by" for table in OLD]
    statements = script.read_text("utf-8").split(";")
    return [text for text in statements if any(start in text for start in starts)]
