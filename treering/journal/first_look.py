"""A look at a file before it is opened as a memory, so that no other program's file is changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from treering.errors import JournalCorrupt, JournalError
from treering.journal import failures

APPLICATION_ID = 0x74726E67  # "trng": tells a treering file from any other SQLite file
_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID_AT = slice(68, 72)  # of SQLite's header
HEADER_BYTES = 100
_NEEDS_WRITING = (sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY)


def begins_a_memory(header: bytes) -> bool:
    """Whether the first ``HEADER_BYTES`` of a file are those of a memory."""
    application = int.from_bytes(header[_APPLICATION_ID_AT], "big")
    return header.startswith(_MAGIC) and application == APPLICATION_ID


def refuse_a_log_without_its_file(file: Path) -> None:
    """Raise JournalError where SQLite would delete a log that holds acknowledged entries."""
    log = Path(f"{file}-wal")
    with suppress(FileNotFoundError):
        # Looked at in this order: another process makes the file before the log.
        if log.stat().st_size > 0 and not file.exists():
            raise JournalError(
                f"{log} is the log of a memory that was moved or removed, and holds entries of it. "
                "Move it beside the memory and name it after that, before anything opens that; if "
                "something has been written there since the move, keep the log elsewhere, for it "
                "would undo that"
            )


def refuse_other_files(file: Path, name: Path) -> None:
    """Raise JournalCorrupt for a file of another program; ``name`` is what the user calls it."""
    with failures.translated(name):
        try:
            application, tables = _peek(file, "ro")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in _NEEDS_WRITING:
                raise
            # A process was killed while it made the file: SQLite has to undo that first.
            application, tables = _peek(file, "rw")
    if application != APPLICATION_ID and tables:
        raise JournalCorrupt(f"{name} is an SQLite file of another program; give another path")


def _peek(file: Path, mode: str) -> tuple[int, int]:
    """The application id and the number of tables and indexes of the file."""
    uri = f"{file.as_uri()}?mode={mode}"
    timeout = failures.BUSY_TIMEOUT_S
    connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None)
    with closing(connection):
        # As of one moment: another process may be making the file.
        connection.execute("BEGIN")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return int(application), int(tables)
