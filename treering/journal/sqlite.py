"""The SQLite backend: one file, WAL, one writer at a time, every thread its own connection."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from itertools import chain
from pathlib import Path

from treering.errors import (
    InputError,
    JournalBusy,
    JournalCorrupt,
    JournalError,
    JournalFull,
    JournalVersionError,
)
from treering.journal import opened, residue
from treering.journal.contract import Reader, Row, Value, Writer

APPLICATION_ID = 0x74726E67  # "trng": tells a treering file from any other SQLite file
PAGE_SIZE = 8192  # five 384-dimensional vectors a page; 4096 would waste a quarter of each
CLOSE_TIMEOUT_S = 10.0  # for calls in other threads, such as a search that is being cancelled
BUSY_TIMEOUT_S = 60.0  # a large document of another process is one transaction
SCRUB_TIMEOUT_S = (
    2.0  # forget() waits for readers and writers no longer: scrubbing can be done later
)
_DAMAGED = ("Could not decode to UTF-8", "malformed JSON")
CACHE_KIB = 16_384  # beyond this a long transaction spills to the WAL: memory stays constant


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn every error of sqlite3 into one of ours that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, path) from error
    except UnicodeDecodeError as error:  # from the words in which SQLite names what is damaged
        raise JournalCorrupt(
            f"{path}: not a readable treering file. Restore a copy or import an export"
        ) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise InputError(f"a value cannot be stored: {error}") from error


def _translate(error: sqlite3.Error, path: Path) -> JournalError:
    # The primary result code is the low byte of the extended one.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return JournalBusy(
            f"{path}: another process kept writing for over {BUSY_TIMEOUT_S:.0f} s; try again"
        )
    if code == sqlite3.SQLITE_FULL:
        return JournalFull(
            f"{path}: no space left to write; nothing of this change was stored. "
            "Free some disk space and repeat it"
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return JournalCorrupt(
            f"{path}: not a readable treering file ({error}). Restore a copy or import an export; "
            "`treering doctor` tells what is damaged"
        )
    if str(error).startswith(_DAMAGED):  # the driver's own words; they may quote a text
        return JournalCorrupt(
            f"{path}: holds what is no text or no JSON; `treering doctor` tells what is damaged"
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return JournalError(
            f"{path}: no permission ({error}); the file and its folder must be readable and "
            "writable"
        )
    if code == sqlite3.SQLITE_IOERR:
        return JournalError(
            f"{path}: the disk failed ({error}); nothing of this change was stored. Check the "
            "disk, its free space and your quota, and repeat it"
        )
    return JournalError(f"{path}: {error}")


class _Transaction:
    """Reader and Writer over one connection; lives inside ``read()`` or ``write()``."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def rows(self, sql: str, params: Sequence[Value] = ()) -> Iterator[Row]:
        with _translated(self._path):
            # The chain has no ``close``, which a generator that is dropped after its connection was
            # closed, as by Ctrl-C, would call on the cursor, and which would fail.
            yield from chain(self._connection.execute(sql, params))

    def row(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        with _translated(self._path):
            found: Row | None = self._connection.execute(sql, params).fetchone()
            return found

    def execute(self, sql: str, params: Sequence[Value] = ()) -> int:
        with _translated(self._path):
            return self._connection.execute(sql, params).rowcount

    def insert(self, sql: str, params: Sequence[Value]) -> int:
        with _translated(self._path):
            new = self._connection.execute(sql, params).lastrowid
        assert new is not None  # an INSERT that did not raise has made a row
        return new

    def many(self, sql: str, params: Iterable[Sequence[Value]]) -> None:
        with _translated(self._path):
            self._connection.executemany(sql, params)


class SqliteDatabase:
    """A treering database in one SQLite file, created if it is not there.

    Raises JournalCorrupt when the file is something else or damaged, JournalVersionError when a
    newer treering wrote it, JournalError when it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        if path.name == ":memory:":
            raise InputError(
                "':memory:' cannot be shared between threads; give a path, such as one in a "
                "temporary folder"
            )
        self.url = str(path)
        self._path = path
        self._local = threading.local()
        self._connections: dict[threading.Thread, sqlite3.Connection] = {}
        self._idle = threading.Condition()  # protects _connections, _closed and _inside
        self._inside: Counter[int] = Counter()  # transactions under way, by thread
        self._writing = threading.RLock()  # threads queue here instead of polling the file
        self._closed = False
        self._inode: opened.Inode | None = None
        try:
            self._prepare()
            self._inode = opened.enter(path)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[Reader]:
        """A read transaction; nested in another of this thread, it is part of that one."""
        with self._entered():
            connection = self._connection()
            if connection.in_transaction:
                yield _Transaction(connection, self._path)
                return
            with _translated(self._path):
                connection.execute("BEGIN")
            try:
                yield _Transaction(connection, self._path)
            finally:
                with _translated(self._path):
                    connection.rollback()

    @contextmanager
    def write(self) -> Iterator[Writer]:
        """A write transaction; rolled back as a whole if the block raises."""
        with self._writing, self._entered():
            connection = self._connection()
            if connection.in_transaction:
                raise JournalError("a write inside another transaction of the same thread")
            with _translated(self._path):
                connection.execute("BEGIN IMMEDIATE")
            try:
                yield _Transaction(connection, self._path)
                with _translated(self._path):
                    connection.execute("COMMIT")
            except BaseException:
                with _translated(self._path):
                    connection.rollback()
                raise

    def scrub(self, needles: Sequence[bytes]) -> bool:
        """Rewrite the file from what is live and empty the WAL; then read both for the needles.

        secure_delete zeroes what is deleted, but a page that was rebalanced earlier may keep a
        copy in its gap; only a rewritten file is sure to hold none.
        """
        with self._writing, self._entered():
            try:
                emptied = self._rewrite()
            except JournalBusy:
                return False
            return emptied and not self._holds(needles)

    def presence(self) -> int:
        """A byte of the file that this process has locked."""
        with self._entered(), self._lockable() as inode:
            return opened.presence(inode, self._path)

    def is_present(self, number: int) -> bool:
        """Whether the byte is locked: the system frees it with the process, however that ends."""
        with self._entered(), self._lockable() as inode:
            return opened.is_present(inode, self._path, number)

    def size(self) -> int:
        """Bytes of the file and its WAL."""
        return sum(file.stat().st_size for file in self._files())

    def check(self) -> list[str]:
        """The findings of SQLite's integrity check and of the foreign keys."""
        with self.read() as reader:
            try:
                findings = [str(row[0]) for row in reader.rows("PRAGMA integrity_check(20)")]
                broken = [
                    f"{row[0]} row {row[1]} points to a missing {row[2]}"
                    for row in reader.rows("PRAGMA foreign_key_check")
                ]
            except JournalCorrupt as error:  # so damaged that even checking stops at it
                return [str(error)]
        return [finding for finding in findings if finding != "ok"] + broken

    def close(self) -> None:
        """Close all connections of all threads, once the transactions of other threads have ended.

        SQLite does not survive that a connection is closed while another thread uses it. One that
        is not given back in time loses its connection when it is collected.
        """
        mine = threading.get_ident()
        with self._idle:
            self._closed = True
            if self._idle.wait_for(lambda: not self._inside.keys() - {mine}, CLOSE_TIMEOUT_S):
                for connection in self._connections.values():
                    connection.close()
                self._left()
            self._connections.clear()

    def _left(self) -> None:
        if self._inode is not None:
            opened.leave(self._inode)
            self._inode = None

    @contextmanager
    def _lockable(self) -> Iterator[opened.Inode]:
        assert self._inode is not None  # from opening to closing
        try:
            yield self._inode
        except OSError as error:
            raise JournalError(
                f"{self._path}: cannot be locked ({error}); keep it on a disk whose files can be"
            ) from error

    @contextmanager
    def _entered(self) -> Iterator[None]:
        with self._idle:
            if self._closed:
                raise JournalError(f"{self._path} has been closed; open it again")
            self._inside[threading.get_ident()] += 1
        try:
            yield
        finally:
            with self._idle:
                self._inside -= Counter({threading.get_ident(): 1})  # drops what reaches zero
                self._idle.notify_all()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if self._closed:
            raise JournalError(f"{self._path} has been closed; open it again")
        if connection is None:
            with _translated(self._path):
                connection = self._connect()
            self._local.connection = connection
            with self._idle:
                self._drop_connections_of_ended_threads()
                self._connections[threading.current_thread()] = connection
        return connection

    def _drop_connections_of_ended_threads(self) -> None:
        for thread in [one for one in self._connections if not one.is_alive()]:
            self._connections.pop(thread).close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,  # close() may run in another thread than the work
        )
        try:
            for pragma in (
                f"page_size={PAGE_SIZE}",
                "journal_mode=WAL",
                "synchronous=FULL",  # NORMAL may lose an acknowledged commit with the power
                "secure_delete=ON",
                "foreign_keys=ON",
                f"cache_size=-{CACHE_KIB}",
            ):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self) -> None:
        if self._path.is_dir():
            raise JournalError(f"{self._path} is a folder; give the path of a file")
        if not self._path.parent.is_dir():
            raise JournalError(f"{self._path.parent} is not a folder; create it first")
        if self._path.is_file() and self._path.stat().st_size > 0:
            self._refuse_other_files()
        scripts = _migrations()
        with self.read() as reader:
            version = _version(reader)
        if version > len(scripts):
            raise JournalVersionError(
                f"{self._path} has version {version}, this treering reads up to {len(scripts)}; "
                "upgrade treering"
            )
        if version < len(scripts):  # else opening need not wait for a writer
            with self.write() as writer:
                self._migrate(writer, scripts)

    def _refuse_other_files(self) -> None:
        """Look before the first connection changes anything, such as the journal mode."""
        uri = f"{self._path.resolve().as_uri()}?mode=ro"
        with _translated(self._path):
            connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S)
            try:
                found = connection.execute("PRAGMA application_id").fetchone()[0]
                tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            finally:
                connection.close()
        if found != APPLICATION_ID and tables:
            raise JournalCorrupt(
                f"{self._path} is an SQLite file of another program; give another path"
            )

    def _migrate(self, writer: Writer, scripts: Sequence[str]) -> None:
        """Apply the migrations that the file lacks, all in the one transaction."""
        start = _version(writer)  # again: another process may have been faster
        for number, script in enumerate(scripts[start:], start=start + 1):
            for statement in _statements(script):
                writer.execute(statement)
            writer.execute(f"PRAGMA user_version={number}")
        writer.execute(f"PRAGMA application_id={APPLICATION_ID}")

    def _rewrite(self) -> bool:
        """Write the file anew, move the WAL into it and cut that to nothing.

        False if a reader stands in the way. Raises JournalBusy if a writer does.
        """
        connection = self._connection()
        with _translated(self._path):
            connection.execute(f"PRAGMA busy_timeout={SCRUB_TIMEOUT_S * 1000:.0f}")
            try:
                connection.execute("VACUUM")
                row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_S * 1000:.0f}")
        return int(row[0]) == 0

    def _files(self) -> list[Path]:
        names = (self._path, Path(f"{self._path}-wal"))
        return [file for file in names if file.is_file()]

    def _holds(self, needles: Sequence[bytes]) -> bool:
        if self._inode is not None and residue.holds(self._inode, self._path, needles):
            return True
        return any(residue.log_holds(log, needles) for log in self._files()[1:])


def _migrations() -> list[str]:
    """The migration scripts in order; the n-th takes a file from version n - 1 to n."""
    folder = resources.files("treering.journal").joinpath("migrations")
    scripts = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    return [script.read_text("utf-8") for script in scripts]


def _version(reader: Reader) -> int:
    row = reader.row("PRAGMA user_version")
    return int(row[0]) if row else 0


def _statements(script: str) -> Iterator[str]:
    """The statements of an SQL script (executescript would commit the transaction)."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
