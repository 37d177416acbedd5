"""The SQLite backend: one file, WAL, one writer at a time, every thread its own connection."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from weakref import WeakSet

from treering.errors import (
    InputError,
    JournalBusy,
    JournalCorrupt,
    JournalError,
)
from treering.journal import posix_locks, storage
from treering.journal.contract import SCRUB_WAIT_S, Reader, Writer
from treering.journal.ledger import UNLIMITED, Quota
from treering.journal.sqlite import scrub
from treering.journal.sqlite.connection import (
    APPLICATION_ID,
    begin_writing,
    connect,
    create_tables,
    is_empty,
    no_permission,
    not_lockable,
    refuse_a_log_without_its_file,
    refuse_other_files,
    refuse_other_format,
    translate_errors,
)
from treering.journal.sqlite.pool import ConnectionPool, queues_of
from treering.journal.sqlite.transaction import SqliteTransaction

_LOCKS_LOST = "other code in this program opened and closed the file, which drops its locks"


class SqliteDatabase:
    """A treering database in one SQLite file, created if it is not there.

    Raises JournalCorrupt when the file is something else or damaged, JournalVersionError when a
    newer or unreleased treering wrote it, JournalError when it cannot be opened.
    """

    quota: Quota = UNLIMITED

    def __init__(self, path: Path) -> None:
        if path.name == ":memory:":
            raise InputError(
                "':memory:' cannot be shared between threads; give a path, such as one in a "
                "temporary folder"
            )
        self.url = str(path)
        self._path = path
        # Threads connect later, when another folder may be the current one.
        self._given = path.absolute()
        self.file = Path(os.path.realpath(self._given))
        self._pool = ConnectionPool(path, self._connect)
        self._inode: posix_locks.Inode | None = None
        _databases.add(self)
        try:
            with self._pool.enter():
                self._prepare()
            self.presence()  # from now on, lost locks are noticed
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self, space: str | None = None) -> Iterator[Reader]:  # noqa: ARG002
        """A read transaction; nested in another of this thread, it is part of that one."""
        self._take_lost_locks_again()
        with self._pool.enter():
            connection = self._pool.connection()
            # A nested read is part of the outer one, so that both see one state.
            if connection.in_transaction:
                yield SqliteTransaction(connection, self._path)
                return
            self._ensure_in_place()
            with translate_errors(self._path):
                connection.execute("BEGIN")
            try:
                yield SqliteTransaction(connection, self._path)
            finally:
                with translate_errors(self._path):
                    connection.rollback()

    @contextmanager
    def write(
        self,
        space: str | None = None,  # noqa: ARG002
        *,
        derived: bool = False,
        any_format: bool = False,
        wait_s: float | None = None,
    ) -> Iterator[Writer]:
        """A write transaction, alone in the file; rolled back as a whole if the block raises.

        One that is ``derived`` does not wait for the disk in the end. A later one that is not does
        so for both, as they stand one behind the other in the log; so does whoever moves that into
        the file.
        """
        self._take_lost_locks_again()
        with self._queues.writing, self._pool.enter():
            connection = self._pool.connection()
            if connection.in_transaction:
                raise JournalError("a write inside another transaction of the same thread")
            transaction = SqliteTransaction(connection, self._path)
            with translate_errors(self._path):
                # Set each time, because an interrupted thread leaves the connection as it is.
                connection.execute(f"PRAGMA synchronous={'NORMAL' if derived else 'FULL'}")
                begin_writing(connection, wait_s)
            try:
                self._ensure_in_place()
                self._ensure_locked("nothing of this change was stored; repeat it")
                if not any_format:  # another process may have changed it since this one opened it
                    refuse_other_format(transaction, self.url)
                yield transaction
                transaction.commit()
            except BaseException:
                transaction.roll_back()
                raise
            self._ensure_in_place()
            self._ensure_locked("this change may be lost; look whether it is there, or repeat it")

    def scrub(
        self,
        tables: Collection[str],
        *,
        patient: bool = False,
        wait_s: float = SCRUB_WAIT_S,
    ) -> bool:
        """Refill ``tables``, and empty the WAL; rewrite the file if that is due.

        A large file is rewritten only by a ``patient`` call.
        """
        self._take_lost_locks_again()
        return self._queues.scrubs.run(tables, lambda all_: self._scrub(all_, patient, wait_s))

    def _scrub(self, tables: Collection[str], patient: bool, wait_s: float) -> bool:
        try:
            with self._pool.apart(foreign_keys="OFF", temp_store=2):
                with self.write(wait_s=wait_s) as writer:
                    due = storage.due_scrub(writer, tables)
                    scrub.refill(writer, due.tables)
                    is_due = storage.is_rewrite_due(writer)
                is_ours = is_due and (patient or self.size() <= scrub.SMALL_FILE)
                if is_ours:
                    self._rewrite(wait_s)
            if not self._empty_log(wait_s) or (is_due and not is_ours):
                return False
            with self.write() as writer:
                storage.end_scrub(writer, due, rewritten=is_ours)
        except JournalBusy:
            return False
        return True

    def presence(self) -> int:
        """Return a byte of the file that this process has locked."""
        with self._pool.enter(), self._lockable() as inode:
            return posix_locks.presence(inode)

    def is_present(self, number: int) -> bool:
        """Return whether the byte is locked: the system frees it with the process."""
        with self._pool.enter(), self._lockable() as inode:
            return posix_locks.is_present(inode, number)

    @property
    def limit(self) -> None:
        """None: a file belongs to one machine, which holds all of its fragments."""
        return

    def task(self, name: str, wait_s: float = 0.0) -> AbstractContextManager[bool]:  # noqa: ARG002
        """Every process has the right: few processes share a file."""
        return nullcontext(True)

    def size(self) -> int:
        """Return the bytes of the file and its WAL."""
        files = (self.file, Path(f"{self.file}-wal"))
        return sum(file.stat().st_size for file in files if file.is_file())

    def check(self) -> list[str]:
        """Return the findings of SQLite's integrity check, and broken foreign keys."""
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

    def reindex(self) -> None:
        with self.write() as writer:
            writer.execute("REINDEX")

    def close(self) -> None:
        """Close all connections, once the transactions of other threads have ended.

        See ``ConnectionPool.close``.
        """
        self._pool.close(self._left)

    def _left(self) -> None:
        if self._inode is not None:
            posix_locks.leave(self._inode)
            self._inode = None

    @contextmanager
    def _lockable(self) -> Iterator[posix_locks.Inode]:
        assert self._inode is not None  # from opening to closing
        try:
            yield self._inode
        except OSError as error:
            raise not_lockable(self._path, error) from error

    def _ensure_in_place(self) -> None:
        """Raise JournalError if the path leads to another file than the one that is open."""
        if posix_locks.inode_of(self._given) != self._inode:
            raise JournalError(
                f"{self._path} was moved, replaced or removed; open it again (recent changes "
                f"of a moved file are in {self.file}-wal, which belongs beside it)"
            )

    def _ensure_locked(self, outcome: str) -> None:
        """Raise JournalError if SQLite's locks are gone; ``outcome`` says what that means here."""
        if self._inode is not None and self._has_lost_locks(self._inode):
            raise JournalError(f"{self._path}: {_LOCKS_LOST}; {outcome}")

    def _has_lost_locks(self, inode: posix_locks.Inode) -> bool:
        try:
            return posix_locks.has_lost_locks(inode)
        except OSError as error:
            raise not_lockable(self._path, error) from error

    def _take_lost_locks_again(self) -> None:
        """Reconnect if other code in this process has dropped SQLite's locks on the file.

        SQLite does not notice, and takes locks only with the first of its connections to a file:
        all connections of this process must be closed before one is opened.
        """
        inode = self._inode
        if inode is None or not self._has_lost_locks(inode):
            return
        # No thread of this process may use the file while its connections are exchanged. If one
        # uses it for too long, nothing changes here, and the next write notices the lost locks.
        with _relocking, ExitStack() as stack:
            pools = [each._pool for each in list(_databases) if each._inode == inode]
            if any(pool.is_inside() for pool in pools):
                return
            is_quiet = all(stack.enter_context(pool.alone()) for pool in pools)
            if is_quiet and self._has_lost_locks(inode):  # no other thread was faster
                for pool in pools:
                    pool.drop()
                posix_locks.relock(inode)

    def _connect(self) -> sqlite3.Connection:
        """A new connection to the file that is in place."""
        self._ensure_in_place()
        with translate_errors(self._path):
            return connect(self.file)

    def _prepare(self) -> None:
        try:
            self._refuse_other_places()
            self._inode = posix_locks.enter(self.file)
        except PermissionError as error:  # of the file, or of a folder above it
            raise no_permission(self._path, error) from error
        except (OSError, ValueError) as error:
            raise JournalError(f"{self._path} cannot be opened: {error}") from error
        self._queues = queues_of(self._inode)
        with self._lockable() as inode:
            posix_locks.ensure_lockable(inode)
        if self.file.stat().st_size > 0:
            refuse_other_files(self.file, self._path)
        with self.read() as reader:
            is_new = is_empty(reader)
            if not is_new:
                refuse_other_format(reader, self.url)
        if is_new:  # otherwise opening does not wait for a writer
            with self.write(any_format=True) as writer:
                if is_empty(writer):
                    create_tables(writer)
                    writer.execute(f"PRAGMA application_id={APPLICATION_ID}")
                else:  # another process was faster
                    refuse_other_format(writer, self.url)

    def _refuse_other_places(self) -> None:
        """Raise JournalError for a path that cannot be a memory."""
        if self._path.is_dir():
            raise JournalError(f"{self._path} is a folder; give the path of a file")
        if not self._path.parent.is_dir():
            raise JournalError(f"{self._path.parent} is not a folder; create it first")
        refuse_a_log_without_its_file(self.file)

    def _rewrite(self, wait_s: float) -> None:
        """Rewrite the file without the blanked rows. Raises JournalBusy.

        Until it has been rewritten, that stays due, whatever its tables are marked with.
        """
        with self.write(wait_s=wait_s) as writer:
            storage.drop_blanked(writer)
            scrub.mark_refilled(writer)
        with (
            self._queues.writing,
            translate_errors(self._path),
            self._pool.patience(wait_s) as connection,
        ):
            self._ensure_in_place()
            connection.execute("VACUUM")

    def _empty_log(self, wait_s: float) -> bool:
        """Move the WAL into the file and truncate it. Return False if a reader prevents it."""
        deadline = time.monotonic() + wait_s
        while True:
            with (
                self._queues.writing,
                translate_errors(self._path),
                self._pool.patience(scrub.WAIT_S) as connection,
            ):
                self._ensure_in_place()
                if scrub.empty_log(connection):
                    return True
            if time.monotonic() > deadline:
                return False
            time.sleep(scrub.PAUSE_S)


_databases: WeakSet[SqliteDatabase] = WeakSet()
_relocking = threading.Lock()  # two threads would each keep the other out of one of two pools
