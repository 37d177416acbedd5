"""Connections to a file: checks that it is a memory, its tables, settings and errors."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType

from treering.errors import (
    InputError,
    JournalBusy,
    JournalCorrupt,
    JournalError,
    JournalFull,
)
from treering.journal import schema
from treering.journal.contract import Reader, Writer

APPLICATION_ID = 0x74726E67  # "trng", in the header of every memory
_NEEDS_WRITING = (sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY)

PAGE_SIZE = 8192  # five 384-dimensional vectors a page; 4096 would waste a quarter of each
CONNECT_PAUSE_S = 0.005
BUSY_TIMEOUT_S = 60.0  # a large import of another process is one transaction
LOOK_S = 0.25  # a writer that waits notices Ctrl-C as often, which SQLite itself does not
_DAMAGED = ("Could not decode to UTF-8", "malformed JSON")

FILES_A_CONNECTION = 4  # the file, its log, the log's index and, for a moment, the folder
CACHE_KIB = 16_384  # beyond this a long transaction spills to the WAL: memory stays constant


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
    with translate_errors(name):
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
    timeout = BUSY_TIMEOUT_S
    connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None)
    with closing(connection):
        # As of one moment: another process may be making the file.
        connection.execute("BEGIN")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return int(application), int(tables)


def connect(file: Path) -> sqlite3.Connection:
    """A new connection to a file that is there, in no transaction. Raises sqlite3.Error."""
    until = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            return _connect_once(file)
        except sqlite3.OperationalError as error:
            # While another process makes the file and turns its log on, SQLite does not wait.
            if not is_busy(error) or time.monotonic() > until:
                raise
        time.sleep(CONNECT_PAUSE_S)


def begin_writing(connection: sqlite3.Connection, wait_s: float | None) -> None:
    """Begin a write transaction once others have ended. Raises sqlite3.Error.

    Wait ``wait_s`` for them, by default the time-out.
    """
    until = time.monotonic() + (BUSY_TIMEOUT_S if wait_s is None else wait_s)
    try:
        connection.execute(f"PRAGMA busy_timeout={round(1000 * LOOK_S)}")
        while not connection.in_transaction:
            try:
                # IMMEDIATE takes the write lock now: a read that turns into a write cannot wait.
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() > until:
                    raise
    finally:
        connection.execute(f"PRAGMA busy_timeout={round(1000 * BUSY_TIMEOUT_S)}")


def _connect_once(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{file.as_uri()}?mode=rw",  # a missing file is not created
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,  # close() may run in another thread than the work
    )
    try:
        for pragma in (
            f"page_size={PAGE_SIZE}",
            "journal_mode=WAL",
            "synchronous=FULL",  # NORMAL may lose a commit with the power; see ``write``
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


# ------------------------------------------------------------------- errors


class translate_errors:  # noqa: N801 - it is called like a function
    """Turn every error of sqlite3 into an error of treering that says what to do."""

    # No generator: one is entered for each statement, and takes as long as a small statement.
    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if error is None:
            return
        if isinstance(error, sqlite3.Error):
            raise _translate(error, self._path) from error
        if isinstance(error, UnicodeDecodeError):  # in a message of SQLite about damage
            raise JournalCorrupt(
                f"{self._path}: not a readable treering file. Restore a copy or import an export"
            ) from error
        if isinstance(error, (UnicodeEncodeError, OverflowError)):
            raise InputError(f"a value cannot be stored: {error}") from error


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process or connection held a lock."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_damaged(error: sqlite3.Error) -> bool:
    """Return whether the file is damaged, or not a database."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(error: sqlite3.Error) -> int:
    # The primary result code is the low byte of the extended one.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _translate(error: sqlite3.Error, path: Path) -> JournalError:
    code = _code(error)
    if is_busy(error):
        return JournalBusy(
            f"{path}: another process kept writing for over {BUSY_TIMEOUT_S:.0f} s; try again"
        )
    if code == sqlite3.SQLITE_FULL:
        return JournalFull(
            f"{path}: no space left to write; nothing of this change was stored. "
            "Free some disk space and repeat it"
        )
    if is_damaged(error):
        return JournalCorrupt(
            f"{path}: not a readable treering file ({error}). Restore a copy or import an export; "
            "`treering doctor` lists the damage"
        )
    if str(error).startswith(_DAMAGED):  # the driver's own words; they may quote a text
        return JournalCorrupt(f"{path}: holds bad text or JSON; `treering doctor` lists the damage")
    if code == sqlite3.SQLITE_CANTOPEN and _is_out_of_files():
        return JournalError(
            f"{path}: this process has too many open files; close some, or raise its limit "
            "(`ulimit -n`)"
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return no_permission(path, error)
    if code == sqlite3.SQLITE_PROTOCOL:  # a lock failed
        return not_lockable(path, error)
    if code == sqlite3.SQLITE_IOERR:
        return JournalError(
            f"{path}: the disk failed ({error}); nothing of this change was stored. Check the "
            "disk, its free space and your quota, and repeat it"
        )
    return JournalError(f"{path}: {error}")


def _is_out_of_files() -> bool:
    """Return whether this process cannot open what a connection needs; SQLite does not say."""
    with ExitStack() as opened:
        for _ in range(FILES_A_CONNECTION):
            try:
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
            except OSError as error:
                return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def no_permission(path: Path, error: Exception) -> JournalError:
    """The error of a file that may not be read or written."""
    return JournalError(
        f"{path}: no permission ({error}); the file and its folder must be readable and writable"
    )


def not_lockable(path: Path, error: Exception) -> JournalError:
    """The error of a file on a file system where locks fail."""
    return JournalError(
        f"{path}: cannot be locked ({error}); keep it on a disk whose files can be, not on a "
        "network file system without locks"
    )
