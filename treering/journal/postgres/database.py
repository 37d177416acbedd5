"""The PostgreSQL engine: one schema per memory, one writer per space, and a pool of connections.

A writer first takes the lock of its space, as a writer of a file takes that of SQLite. So the
writers of a space, in any process, see all earlier commits, and rows are numbered in the order of
commits. Writers of different spaces do not wait for each other; a writer of the whole database
excludes all of them. Readers never wait.

The order of locks is: the schema, shared; the space; the rows that spaces share (``share``). A
writer with the last lock waits for no other writer, so writers never wait in a ring.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Final

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from treering.errors import JournalBusy, JournalError
from treering.journal import storage
from treering.journal.contract import SCRUB_WAIT_S, Reader, Writer
from treering.journal.ledger import UNLIMITED, Quota
from treering.journal.postgres import locks, nearest, schema, vacuum
from treering.journal.postgres.failures import BUSY_TIMEOUT_S, translate_errors
from treering.journal.postgres.location import Location
from treering.journal.postgres.statements import adapt
from treering.journal.postgres.transaction import PostgresTransaction, enter
from treering.journal.schema import refuse_unreadable
from treering.journal.space import UNNAMED, retry
from treering.journal.usage import DatabaseUse

POOL_TIMEOUT_S: Final = 30.0
"""A thread waits this long for a connection."""

PROBE_S: Final = 1.0
"""After this time without a connection, a thread checks that the server answers."""

_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_VERSION: Final = "SELECT number FROM treering_version"
_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
"""A server may be set to acknowledge commits that a power cut undoes; an add must be durable."""

_SIZE: Final = (
    "SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class"
    " WHERE relnamespace = CAST(current_schema() AS regnamespace) AND relkind = 'r'"
)
_CHECKSUMS: Final = (
    "SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()"
)

# The pool logs every attempt to connect; a waiting thread raises the error, too.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

PgConnection = psycopg.Connection[TupleRow]


class PostgresDatabase:
    """A treering database in a schema of PostgreSQL, made if it is not there.

    ``url`` names it without a password. Raises InputError for a URL that cannot be read,
    JournalVersionError when the server is too old or a newer treering made the tables, JournalError
    when it cannot be reached or used, and without ``create`` UnknownName when it is not there.
    """

    quota: Quota = UNLIMITED

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._location = Location.parse(url)
        self.file = None
        self.url = self._location.shown
        self._local = threading.local()
        self._queues = locks.WriterQueues(self._location.pool)
        self._usage = DatabaseUse(self.url)
        self._scrubs = storage.SharedScrubs()
        self._process = locks.ProcessLocks(self._connect, self._location.schema)
        self._locks = locks.WriterLocks(self._location.schema)
        with self._usage.enter():
            retry(lambda: self._prepare(create))
        self._pool = ConnectionPool(
            self._location.conninfo,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=self._location.pool,
            timeout=POOL_TIMEOUT_S,
            configure=self._configure,
            check=ConnectionPool.check_connection,  # a server that was restarted is noticed
            name="treering",
            open=True,
        )
        self._usage.owned = self._pool, self._process

    def _prepare(self, create: bool) -> None:
        with translate_errors(self.url), self._connect() as connection:
            schema.prepare(connection, self._location, create=create)

    @contextmanager
    def read(self, space: str | None = None) -> Iterator[Reader]:
        """A read transaction; nested in another of this thread, it is part of that one."""
        outer = self._current()
        if outer is not None:
            with outer.within(space):
                yield outer
            return
        with self._usage.enter(), self._transaction(_READ, space) as (transaction, connection):
            yield transaction
            with translate_errors(self.url):
                connection.execute("ROLLBACK")

    @contextmanager
    def write(
        self,
        space: str | None = None,
        *,
        derived: bool = False,  # noqa: ARG002
    ) -> Iterator[Writer]:
        """A write transaction; rolled back as a whole if the block raises.

        ``derived`` rows are durable, too: processes outlive a restart of the server, and must not
        hold rows in memory that it has lost.
        """
        if self._current() is not None:
            raise JournalError("a write inside another transaction of the same thread")
        with self._queues.turn(space), self._usage.enter():
            # Only this isolation level sees commits of others once the locks are taken; the server
            # may have another default.
            begin = (
                "BEGIN ISOLATION LEVEL READ COMMITTED;"
                f" SET LOCAL lock_timeout = {int(BUSY_TIMEOUT_S * 1000)};"
                f" {self._locks.for_writer_of(space)}"
            )
            with self._transaction(begin, space) as (transaction, connection):
                yield transaction
                # Check deferred constraints first, so that only a lost connection leaves the
                # outcome of the commit open.
                with translate_errors(self.url):
                    connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
                with translate_errors(self.url, ending=True):
                    connection.execute("COMMIT")

    def scrub(
        self,
        tables: Collection[str],
        *,
        patient: bool = False,
        wait_s: float = SCRUB_WAIT_S,
    ) -> bool:
        """Vacuum ``tables``, and those with texts of users.

        A ``patient`` call rewrites the tables if that is due, which excludes other processes.
        """
        return self._scrubs.run(tables, lambda all_: self._scrub(all_, patient, wait_s))

    def _scrub(self, tables: Collection[str], patient: bool, wait_s: float) -> bool:
        if self._current() is not None:
            raise JournalError("a scrubbing inside a transaction of the same thread")
        with self.read() as reader:
            due = storage.due_scrub(reader, tables)
            rewrites = patient and storage.is_rewrite_due(reader)
        try:
            if rewrites:
                with self.write() as writer:
                    storage.drop_blanked(writer)
            with self._usage.enter(), self._borrow() as connection, translate_errors(self.url):
                there = vacuum.present(connection, {*due.tables, *vacuum.HEAPS, nearest.TABLE})
                own = there - {nearest.TABLE}
                if not vacuum.run(connection, own, wait_s, rewrites=rewrites, patient=patient):
                    return False
                sizes = nearest.index_sizes(connection)
                erased = {space: sizes[space] for space, _ in due.marks if space in sizes}
                is_left = sum(erased.values()) > nearest.SMALL and not patient
                if nearest.TABLE in there and not vacuum.run(
                    connection, [nearest.TABLE], wait_s, indexes=bool(erased) and not is_left
                ):
                    return False
            done = [mark for mark in due.marks if not (is_left and mark[0] in erased)]
            with self.write(UNNAMED) as writer:  # of no space, so it waits for no writer
                storage.end_scrub(writer, replace(due, marks=done), rewritten=rewrites)
        except JournalBusy:
            return False
        return not is_left

    def presence(self) -> int:
        """Return the number of a lock that a connection of this process holds."""
        with self._usage.enter(), translate_errors(self.url):
            return self._process.presence()

    def is_present(self, number: int) -> bool:
        """Return whether the lock is held: the server frees it with the connection."""
        with self._usage.enter(), self._borrow() as connection, translate_errors(self.url):
            return locks.is_held(connection, number)

    @property
    def limit(self) -> int:
        """Fragments of a space that are held in main memory; larger ones stay in the database."""
        return self._location.limit

    @contextmanager
    def connection(self) -> Iterator[tuple[PgConnection, str]]:
        """A connection outside any transaction, and the name of the schema."""
        with self._usage.enter(), self._borrow() as connection, translate_errors(self.url):
            yield connection, self._location.schema

    @contextmanager
    def task(self, name: str, wait_s: float = 0.0) -> Iterator[bool]:
        with ExitStack() as stack:
            with self._usage.enter(), translate_errors(self.url):
                is_ours = stack.enter_context(self._process.task(name, wait_s))
            yield is_ours

    def size(self) -> int:
        """Bytes of the tables and their indexes."""
        return self._number(_SIZE)

    def check(self) -> list[str]:
        """Return the number of pages that the server found damaged."""
        failures = self._number(_CHECKSUMS)
        return [f"the server counts {failures} pages with wrong checksums"] if failures else []

    def reindex(self) -> None:
        with self.write() as writer:
            for table in writer.tables():
                writer.execute(f'REINDEX TABLE "{table.name}"')

    def close(self) -> None:
        """Close all connections, once the transactions of other threads have ended."""
        with suppress(JournalError), self._usage.enter():  # closed already, or the parent's
            self._usage.end_uses()
            current = self._current()
            if current is not None:  # the connection returns to the pool when the block ends
                current.refuse = self._usage.refuse_closed
            self._pool.close()
            self._process.close()

    # ------------------------------------------------------------------ connections

    def _number(self, sql: str) -> int:
        with self.read() as reader:
            row = reader.row(sql)
        return int(row[0]) if row else 0

    def _current(self) -> PostgresTransaction | None:
        """The transaction of this thread, if one is under way."""
        self._usage.refuse_forked()
        return getattr(self._local, "current", None)

    @contextmanager
    def _transaction(
        self, begin: str, space: str | None
    ) -> Iterator[tuple[PostgresTransaction, PgConnection]]:
        """A transaction that the block ends; rolled back if the block raises."""
        with self._borrow() as connection:
            transaction = PostgresTransaction(connection, self.url, self._locks, space)
            try:
                self._begin(connection, f"{begin}; {enter(space)}")
                self._local.current = transaction
                yield transaction, connection
            except BaseException:
                # In a process that was forked amid it, the connection is the parent's.
                if not self._usage.is_forked():
                    with suppress(psycopg.Error):
                        connection.execute("ROLLBACK")
                raise
            finally:
                self._local.current = None

    def _begin(self, connection: PgConnection, begin: str) -> None:
        """Begin a transaction, in one round trip. Raises JournalVersionError.

        Every transaction notices that a newer treering has changed the tables.
        """
        with translate_errors(self.url):
            cursor = connection.execute(f"{begin}; {_VERSION}")
            while cursor.nextset():
                pass
            version = cursor.fetchone()
        if version is not None:
            refuse_unreadable(int(version[0]), self.url)

    @contextmanager
    def _borrow(self) -> Iterator[PgConnection]:
        """A connection of the pool; that of this thread's transaction, if one is under way."""
        current = self._current()
        if current is not None:
            yield current.connection
            return
        with translate_errors(self.url):
            connection = self._get()
        try:
            yield connection
        finally:
            if not self._usage.is_forked():
                self._pool.putconn(connection)

    def _get(self) -> PgConnection:
        try:
            with suppress(PoolTimeout):
                return self._pool.getconn(PROBE_S)
            with self._connect():  # raises the reason if the server cannot be reached
                pass
            return self._pool.getconn()
        except PoolClosed:
            self._usage.refuse_closed()
            raise

    def _connect(self) -> PgConnection:
        """A connection beside the pool. Raises psycopg.Error."""
        connection = psycopg.connect(self._location.conninfo, autocommit=True)
        self._configure(connection)
        return connection

    def _configure(self, connection: PgConnection) -> None:
        adapt(connection)
        name = self._location.schema
        connection.execute(f'SET search_path TO "{name}"')
        connection.execute(_DURABLE)
