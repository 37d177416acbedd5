"""Remove erased rows from the tables of PostgreSQL, which overwrites nothing in place.

A deleted or changed row leaves a dead row behind. VACUUM removes dead rows, unless a transaction
may still see them. Freed space may keep old bytes until it is used again, and so may the
write-ahead log, replicas and backups: docs/how-to/operations.md says how to deal with those.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg.rows import TupleRow

log = logging.getLogger("treering")

PAUSE_S: Final = 0.05
"""Between two checks that older transactions have ended."""

HEAPS: Final = (
    *("body", "label", "vector_data", "block_rows", "block_postings", "vector_block_data"),
)
"""Tables whose rows are deleted or changed where SQLite overwrites them. That of the neighbours is
not among them: see ``nearest.index_sizes``."""

NUMBERED: Final = frozenset((*HEAPS, "statement", "node", "code_change", "reply", "work_error"))
"""Tables whose indexes hold numbers and digests. An import may give a memo any text as its id."""

_OLDER: Final = """
    SELECT 1 FROM (
        SELECT backend_xmin FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        AND (datname = current_database() OR backend_type = 'walsender')
        UNION ALL SELECT backend_xid FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND datname = current_database()
        UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
        UNION ALL SELECT xmin FROM pg_replication_slots
    ) AS holder (number) WHERE age(number) > age(CAST(CAST(%s AS TEXT) AS xid)) LIMIT 1
"""
"""Whether something keeps dead rows that are older than a transaction: a snapshot, which a standby
may hold through its sender or its slot, or a transaction that has written and has not ended."""

SMALL: Final = 4 << 20
"""Bytes of indexes that are built again while a caller waits."""

_DIVIDED: Final = """
    SELECT CAST(CAST(i.indrelid AS REGCLASS) AS TEXT), CAST(CAST(c.oid AS REGCLASS) AS TEXT),
        pg_relation_size(c.oid)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
    WHERE i.indrelid = ANY (CAST(%s AS REGCLASS[])) AND m.amname <> 'hnsw'
        AND pg_relation_size(c.oid) > 2 * CAST(current_setting('block_size') AS BIGINT)
        AND EXISTS (
            SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum <= i.indnkeyatts
            AND a.atttypid <> ALL (CAST(
                '{bigint,integer,smallint,boolean,real,double precision}' AS REGTYPE[])))
    ORDER BY 1, 2
"""
"""Indexes of words with more than one page; the first page of a file only describes it."""


def present(connection: psycopg.Connection[TupleRow], tables: Collection[str]) -> set[str]:
    """Return those of some tables that are there."""
    rows = connection.execute(
        "SELECT name FROM unnest(CAST(%s AS TEXT[])) AS name WHERE to_regclass(name) IS NOT NULL",
        (sorted(tables),),
    )
    return {str(row[0]) for row in rows}


def run(
    connection: psycopg.Connection[TupleRow],
    tables: Collection[str],
    wait_s: float,
    *,
    rewrites: bool = False,
    indexes: bool = True,
    patient: bool = True,
) -> bool:
    """Take the dead rows of tables away; False if a transaction may still see some of them.

    ``rewrites``: the tables are written anew into other files, while nobody else uses them. Without
    ``indexes`` what these hold of the rows stays there. Unless ``patient``, indexes of words that
    are large together are left as they are; the result is False then, too.
    """
    row = connection.execute("SELECT CAST(CAST(pg_current_xact_id() AS xid) AS TEXT)").fetchone()
    assert row is not None
    until = time.monotonic() + wait_s
    while connection.execute(_OLDER, (row[0],)).fetchone() is not None:
        if time.monotonic() > until:
            return False
        time.sleep(PAUSE_S)
    options = "FULL" if rewrites else f"INDEX_CLEANUP {'ON' if indexes else 'OFF'}"
    with _warnings(connection) as warnings:
        connection.execute(f"SET lock_timeout = {max(int(wait_s * 1000), 1)}")
        try:
            if tables:  # without any, all tables of the database are vacuumed
                connection.execute(f"VACUUM ({options}) {', '.join(sorted(tables))}")
        finally:
            if not connection.broken:
                connection.execute("RESET lock_timeout")
    for warning in warnings:  # PostgreSQL only warns when it skips a table of another owner
        log.warning("erased rows are not vacuumed: %s", warning)
    if warnings:
        return False
    return rewrites or not indexes or _rebuild(connection, tables, wait_s, patient=patient)


def _rebuild(
    connection: psycopg.Connection[TupleRow],
    tables: Collection[str],
    wait_s: float,
    *,
    patient: bool,
) -> bool:
    """Build indexes of words again; False if they are too large for that.

    VACUUM leaves the words that divide the pages of an index, though their rows are gone. Building
    keeps others out of a table, so the tables of entries lack such an index.
    """
    with_words = set(tables) - NUMBERED
    rows = connection.execute(_DIVIDED, (sorted(with_words),)).fetchall() if with_words else []
    if not patient and sum(size for _, _, size in rows) > SMALL:
        return False
    for table, index, _ in rows:
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = {max(int(wait_s * 1000), 1)}")
            # REINDEX takes its locks one by one, and may meet a writer who holds one of them.
            connection.execute(f"LOCK TABLE {table}")
            connection.execute(f"REINDEX INDEX {index}")
    return True


@contextmanager
def _warnings(connection: psycopg.Connection[TupleRow]) -> Iterator[list[str]]:
    """Collect the warnings of the server during the block."""
    warnings: list[str] = []

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        if diagnostic.severity_nonlocalized == "WARNING":
            warnings.append(diagnostic.message_primary or "")

    connection.add_notice_handler(note)
    try:
        yield warnings
    finally:
        connection.remove_notice_handler(note)
