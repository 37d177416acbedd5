"""Connections to a file: checks that it is a memory, its tables, and settings of a connection."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from treering.errors import JournalCorrupt, JournalError
from treering.journal import schema
from treering.journal.contract import Reader, Writer
from treering.journal.sqlite import failures

APPLICATION_ID = 0x74726E67  # "trng", in the header of every memory
_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID_AT = slice(68, 72)  # of SQLite's header
HEADER_BYTES = 100
_NEEDS_WRITING = (sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY)

PAGE_SIZE = 8192  # five 384-dimensional vectors a page; 4096 would waste a quarter of each
CONNECT_PAUSE_S = 0.005
SHORTEST_LOOK_S = 0.001
LONGEST_LOOK_S = 0.008
"""Between two attempts to begin while another writer is active."""

CACHE_KIB = 16_384  # beyond this a long transaction spills to the WAL: memory stays constant


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
    """Raise JournalCorrupt for a file of another program; ``name`` is the user's name of it."""
    with failures.translate_errors(name):
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


def connect(file: Path) -> sqlite3.Connection:
    """A new connection to a file that is there, in no transaction. Raises sqlite3.Error."""
    until = time.monotonic() + failures.BUSY_TIMEOUT_S
    while True:
        try:
            return _connect_once(file)
        except sqlite3.OperationalError as error:
            # While another process makes the file and turns its log on, SQLite does not wait.
            if not failures.is_busy(error) or time.monotonic() > until:
                raise
        time.sleep(CONNECT_PAUSE_S)


def begin_writing(connection: sqlite3.Connection, *, durable: bool, wait_s: float | None) -> None:
    """Begin a write transaction; wait up to ``wait_s`` for other writers, by default the time-out.

    One that is not ``durable`` does not wait for the disk in the end. A later one that is does so
    for both, as they stand one behind the other in the log; so does whoever moves that into the
    file. Raises sqlite3.Error.
    """
    # Set each time, because an interrupted thread leaves the connection as it is.
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
    # SQLite itself retries after ever longer pauses, of a tenth of a second in the end. A thread
    # could then wait twice as long as the other writer needs.
    time_out = failures.BUSY_TIMEOUT_S
    until = time.monotonic() + (time_out if wait_s is None else wait_s)
    try:
        connection.execute("PRAGMA busy_timeout=0")
        pause = SHORTEST_LOOK_S
        while not _has_begun(connection, until):
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK_S)
    finally:
        connection.execute(f"PRAGMA busy_timeout={round(1000 * time_out)}")


def _has_begun(connection: sqlite3.Connection, until: float) -> bool:
    """Whether a write transaction could begin now. Raises sqlite3.Error if it is late for that."""
    try:
        # IMMEDIATE takes the write lock now: a read that turns into a write cannot wait.
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if not failures.is_busy(error) or time.monotonic() > until:
            raise
        return False
    return True


def _connect_once(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{file.as_uri()}?mode=rw",  # a missing file is not created
        uri=True,
        timeout=failures.BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,  # close() may run in another thread than the work
    )
    try:
        for pragma in (
            f"page_size={PAGE_SIZE}",
            "journal_mode=WAL",
            "synchronous=FULL",  # NORMAL may lose a commit with the power; see ``begin_writing``
            # macOS alone: fsync there leaves data in the drive's cache, lost with the power.
            "fullfsync=ON",
            "checkpoint_fullfsync=ON",
            "secure_delete=ON",
            "foreign_keys=ON",
            f"cache_size=-{CACHE_KIB}",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def is_empty(reader: Reader) -> bool:
    """Return whether a file is without tables."""
    return reader.row("SELECT 1 FROM sqlite_schema") is None


def refuse_other_format(reader: Reader, name: str) -> None:
    """Raise JournalVersionError unless this treering reads the format of a file."""
    row = reader.row("PRAGMA user_version")
    number = int(row[0]) if row else 0
    if number != schema.FORMAT:
        schema.refuse_unreadable(number, name)


def create_tables(writer: Writer) -> None:
    """Create the tables of an empty file."""
    for statement in _statements(schema.script("treering.journal.sqlite")):
        writer.execute(statement)
    writer.execute(f"PRAGMA user_version={schema.FORMAT}")


def _statements(text: str) -> Iterator[str]:
    """Split a script into its statements: executescript would commit the transaction."""
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
