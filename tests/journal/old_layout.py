"""A file as earlier releases wrote it.

Before version 19 each fragment had rows of its own for its terms and its vector; before version 14
SQLite moved those rows, and those of texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

from treering.journal import blocks, vector_blocks
from treering.journal.space import all_models
from treering.journal.sqlite import SqliteDatabase

VERSION = 13
LISTED_VERSION = 18
LISTED = ("fragment", "vector", "term_list")
BLOCKS = ("block", "block_rows", "block_postings", "vector_block", "vector_block_data")
WITHOUT_SPACE = ("memo_line", "reply_shown", "code_relation")
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
    """Give a file that nobody has open the layout of version 13."""
    write_back_to_lists(path)
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
        for statement in _statements("0001_journal.sql", OLD):
            connection.execute(statement)
        for table in OLD:
            connection.execute(f"INSERT INTO {table} {ROWS[table]}")
        for table in (*(f"new_{table}" for table in OLD), *NEW, *LATER):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("ALTER TABLE work ADD COLUMN error TEXT")
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")


def write_back_to_lists(path: Path) -> None:
    """Give a file that nobody has open the layout of version 18."""
    fragments, vectors = _stored(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA legacy_alter_table=ON")
        connection.execute("BEGIN")
        for table in ("fragment", *BLOCKS):
            connection.execute(f"DROP TABLE {table}")
        for table in WITHOUT_SPACE:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN space")
        for statement in _statements("0014_heap.sql", LISTED):
            connection.execute(statement)
        for *columns, data in fragments:
            cursor = connection.execute("INSERT INTO term_list (data) VALUES (?)", (data,))
            connection.execute(
                "INSERT INTO fragment VALUES (?, ?, ?, ?, ?, ?)", (*columns, cursor.lastrowid)
            )
        connection.executemany("INSERT INTO vector VALUES (?, ?, ?, ?)", vectors)
        connection.execute("DELETE FROM storage WHERE name = 'vectors'")
        connection.execute(f"PRAGMA user_version={LISTED_VERSION}")
        connection.execute("COMMIT")


def _stored(path: Path) -> tuple[list[tuple[Any, ...]], list[tuple[int, int, Any, int]]]:
    """The rows of fragments, each with its terms, and those of vectors."""
    with closing(SqliteDatabase(path)) as database, database.read() as reader:
        rows = list(reader.rows("SELECT id, space, entry, start, stop, block, slot FROM fragment"))
        terms = [
            of_row
            for row in rows
            for of_row in blocks.terms_at(reader, int(row[1]), [(int(row[5]), int(row[6]))])
        ]
        vectors = [
            (number, model.id, space, fragment)
            for model in all_models(reader)
            for (space,) in list(reader.rows("SELECT id FROM space"))
            for number, fragment in vector_blocks.next_after(reader, space, model, 0, 1_000)
        ]
    fragments = [(*row[:-2], of_row.tobytes()) for row, of_row in zip(rows, terms, strict=True)]
    return fragments, vectors


def _statements(migration: str, tables: Sequence[str]) -> list[str]:
    """What made the old tables and their indexes."""
    script = resources.files("treering.journal").joinpath(f"migrations/{migration}")
    starts = [f"TABLE {table} (" for table in tables]
    starts += [f"{index} {table}_by" for table in tables for index in ("INDEX", "UNIQUE INDEX")]
    statements = script.read_text("utf-8").split(";")
    return [text for text in statements if any(f"CREATE {start}" in text for start in starts)]
