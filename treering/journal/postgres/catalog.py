"""What PostgreSQL knows of the tables of a memory."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

import psycopg
from psycopg.rows import TupleRow

from treering.errors import JournalError
from treering.journal.contract import ForeignKey, StoredTable

_INSERT: Final = re.compile(r"\s*INSERT\s+INTO\s+\"?(\w+)", re.IGNORECASE)

_COLUMNS: Final = """
    SELECT CAST(c.relname AS TEXT), CAST(a.attname AS TEXT), a.atttypid = 'text'::regtype
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND c.relkind IN ('r', 'p')
    AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum
"""
_REFERENCES: Final = """
    SELECT CAST(c.relname AS TEXT), CAST(a.attname AS TEXT), CAST(t.relname AS TEXT),
           CAST(b.attname AS TEXT)
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
    CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS p (own, other)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.own
    JOIN pg_attribute b ON b.attrelid = t.oid AND b.attnum = p.other
    WHERE k.contype = 'f' AND c.relnamespace = CAST(current_schema() AS regnamespace)
    ORDER BY c.relname, k.conname
"""
_KEY: Final = """
    SELECT CAST(min(a.attname) AS TEXT) FROM pg_index i
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = to_regclass(%s) AND i.indisprimary AND a.attname <> 'space'
    HAVING count(*) = 1
"""


def tables(connection: psycopg.Connection[TupleRow]) -> list[StoredTable]:
    """The tables of the schema, by name."""
    columns: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for table, column, is_text in connection.execute(_COLUMNS):
        columns[table].append((column, is_text))
    references: dict[str, list[ForeignKey]] = defaultdict(list)
    for table, *link in connection.execute(_REFERENCES):
        references[table].append(ForeignKey(*link))
    return [
        StoredTable(
            table,
            tuple(column for column, _ in of_table),
            frozenset(column for column, is_text in of_table if is_text),
            tuple(references[table]),
        )
        for table, of_table in columns.items()
    ]


def inserted_into(sql: str) -> str:
    """The table that an INSERT names."""
    match = _INSERT.match(sql)
    assert match is not None  # the contract takes nothing else
    return match[1]


def key_of(connection: psycopg.Connection[TupleRow], table: str) -> str:
    """The column that numbers the rows of a table, beside that of the space.

    Raises JournalError if it has none.
    """
    row = connection.execute(_KEY, (table,)).fetchone()
    if row is None:
        raise JournalError(f"the table {table!r} has no single key that numbers its rows")
    return str(row[0])
