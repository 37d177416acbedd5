"""The PostgreSQL backend: a schema of a database, a writer a space, connections from a pool.

Who writes takes a lock of the space first, as SQLite has one of a file. So the writers of a space
see what those before them stored, whichever process they are of, and numbers of rows are given in
the order of commits. Writers of different spaces do not wait for each other; who writes what is of
no space shuts all of them out. Readers wait for nobody.

Locks are taken in this order: that of the schema, shared; that of the space; that of the rows which
spaces share (``share``). Nobody who holds the last one waits for anything that another writer
holds, so that no ring of waiting can come about.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, TypeVar

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from treering import forks
from treering.errors import JournalBusy, JournalError
from treering.journal import storage
from treering.journal.contract import SCRUB_WAIT_S, Reader, Writer
from treering.journal.group_commit import SharedScrubs
from treering.journal.postgres import locks, nearest, schema, vacuum
from treering.journal.postgres.failures import BUSY_TIMEOUT_S, translate_errors
from treering.journal.postgres.location import Location
from treering.journal.postgres.statements import adapt
from treering.journal.postgres.transaction import PostgresTransaction, enter
from treering.journal.schema import refuse_unreadable
from treering.journal.space import UNNAMED, retry

T = TypeVar("T")

POOL_TIMEOUT_S: Final = 30.0
"""Who needs a connection waits no longer for one."""

PROBE_S: Final = 1.0
"""Who has waited for so long looks whether the server is there at all."""

CLOSE_TIMEOUT_S: Final = 10.0
_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_VERSION: Final = "SELECT number FROM treering_version"
_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
"""A server may be told to acknowledge what a power cut undoes; an add must not be."""

_SIZE: Final = (
    "SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class"
    " WHERE relnamespace = CAST(current_schema() AS regnamespace) AND relkind = 'r'"
)
_CHECKSUMS: Final = (
    "SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()"
)

# The pool tells of every attempt to connect; whoever waits for a connection hears of it, too.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

PgConnection = psycopg.Connection[TupleRow]
Pool = ConnectionPool[PgConnection]


class PostgresDatabase:
    """A treering database in a schema of PostgreSQL, made if it is not there.

    ``url`` names it without a password. Raises InputError for a URL that cannot be read,
    JournalVersionError when the server is too old or a newer treering made the tables, JournalError
    when it cannot be reached or used, and without ``create`` UnknownName when it is not there.
    """

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._location = Location.of(url)
        self.file = None
        self.url = self._location.shown
        self._local = threading.local()
        self._queues = locks.WriterQueues(self._location.pool)
        self._idle = threading.Condition()  # protects _closed and _inside
        self._inside: Counter[int] = Counter()  # transactions under way, by thread
        self._closed = False
        self._closed_message = f"{self.url} has been closed; open it again"
        self._keys: dict[str, str] = {}
        self._scrubs = SharedScrubs()
        self._process = locks.ProcessLocks(self._connect, self._location.schema)
        self._locks = locks.WriterLocks(self._location.schema)
        with self._entered():
            retry(lambda: self._prepare(create))
        self._pool = self._new_pool()
        forks.renew_in_child(self, PostgresDatabase._renew_in_child)

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
        with self._entered(), self._transaction(_READ, space) as (transaction, connection):
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

        What is ``derived`` is as durable as all else: processes outlive a server that has to begin
        again, and must not hold in memory what it has lost.
        """
        if self._current() is not None:
            raise JournalError("a write inside another transaction of the same thread")
        with self._queues.turn(space), self._entered():
            # What others stored must be seen once the locks are there, which no isolation level but
            # this one does; the server may have another one as its default.
            begin = (
                "BEGIN ISOLATION LEVEL READ COMMITTED;"
                f" SET LOCAL lock_timeout = {int(BUSY_TIMEOUT_S * 1000)};"
                f" {self._locks.for_writer_of(space)}"
            )
            with self._transaction(begin, space) as (transaction, connection):
                yield transaction
                # What was to hold in the end is checked before, so that only a lost connection
                # leaves it open whether the change is there.
                with translate_errors(self.url):
                    connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
                with translate_errors(self.url, ending=True):
                    transaction.commit()

    def write_together(self, work: Callable[[Writer], T], space: str | None = None) -> T:
        """See ``Database``; what is of one space shares a transaction."""
        with self._queues.writes(space) as writes:
            return writes.run(work, lambda: self.write(space))

    def scrub(
        self,
        tables: Collection[str],
        *,
        patient: bool = False,
        wait_s: float = SCRUB_WAIT_S,
    ) -> bool:
        """Take the dead rows of ``tables`` away, and of those that hold what users wrote.

        A ``patient`` call writes the tables anew if that is due, which keeps others out meanwhile.
        """
        return self._scrubs.run(tables, lambda all_: self._scrub(all_, patient, wait_s))

    def _scrub(self, tables: Collection[str], patient: bool, wait_s: float) -> bool:
        if self._current() is not None:
            raise JournalError("a scrubbing inside a transaction of the same thread")
        with self.read() as reader:
            pending = storage.pending_scrubs(reader)
            rewrites = patient and storage.is_rewrite_due(reader)
        try:
            if rewrites:
                with self.write() as writer:
                    storage.drop_blanked(writer)
            with self._entered(), self._borrowed() as connection, translate_errors(self.url):
                there = vacuum.present(connection, {*tables, *vacuum.HEAPS, nearest.TABLE})
                own = there - {nearest.TABLE}
                if not vacuum.run(connection, own, wait_s, rewrites=rewrites, patient=patient):
                    return False
                sizes = nearest.index_sizes(connection)
                erased = {space: sizes[space] for space, _ in pending if space in sizes}
                is_left = sum(erased.values()) > nearest.SMALL and not patient
                if nearest.TABLE in there and not vacuum.run(
                    connection, [nearest.TABLE], wait_s, indexes=bool(erased) and not is_left
                ):
                    return False
            done = [mark for mark in pending if not (is_left and mark[0] in erased)]
            with self.write(UNNAMED) as writer:  # of no space, and in nobody's way
                storage.end_scrubs(writer, done, rewritten=rewrites)
        except JournalBusy:
            return False
        return not is_left

    def presence(self) -> int:
        """The number of a lock that a connection of this process holds."""
        with self._entered(), translate_errors(self.url):
            return self._process.presence()

    def is_present(self, number: int) -> bool:
        """Whether the lock is held: the server frees it with the connection, however that ends."""
        with self._entered(), self._borrowed() as connection, translate_errors(self.url):
            return locks.is_held(connection, number)

    @property
    def limit(self) -> int:
        """Fragments of a space that are held in main memory; larger ones stay in the database."""
        return self._location.limit

    @contextmanager
    def connected(self) -> Iterator[tuple[PgConnection, str]]:
        """A connection outside any transaction, and the name of the schema."""
        with self._entered(), self._borrowed() as connection, translate_errors(self.url):
            yield connection, self._location.schema

    @contextmanager
    def task(self, name: str, wait_s: float = 0.0) -> Iterator[bool]:
        """See ``Database``."""
        with ExitStack() as stack:
            with self._entered(), translate_errors(self.url):
                is_ours = stack.enter_context(self._process.task(name, wait_s))
            yield is_ours

    def size(self) -> int:
        """Bytes of the tables and their indexes."""
        return self._number(_SIZE)

    def check(self) -> list[str]:
        """Pages of the database that the server found damaged while it read them."""
        failures = self._number(_CHECKSUMS)
        return [f"the server counts {failures} pages with wrong checksums"] if failures else []

    def reindex(self) -> None:
        """See ``Database.reindex``."""
        with self.write() as writer:
            for table in writer.tables():
                writer.execute(f'REINDEX TABLE "{table.name}"')

    def close(self) -> None:
        """Close all connections, once the transactions of other threads have ended."""
        mine = threading.get_ident()
        with self._idle:
            if self._closed:
                return
            self._closed = True
            self._idle.wait_for(lambda: not self._inside.keys() - {mine}, CLOSE_TIMEOUT_S)
        current = self._current()
        if current is not None:  # the connection is given back when the block ends
            current.refuse(self._closed_message)
        self._pool.close()
        self._process.close()

    # ------------------------------------------------------------------ connections

    def _number(self, sql: str) -> int:
        with self.read() as reader:
            row = reader.row(sql)
        return int(row[0]) if row else 0

    def _current(self) -> PostgresTransaction | None:
        """The transaction of this thread, if one is under way."""
        pid, transaction = getattr(self._local, "current", (0, None))
        return transaction if pid == os.getpid() else None

    @contextmanager
    def _transaction(
        self, begin: str, space: str | None
    ) -> Iterator[tuple[PostgresTransaction, PgConnection]]:
        """A transaction that the block ends; if it raises, nothing of it stays."""
        pid = os.getpid()
        with self._borrowed() as connection:
            transaction = PostgresTransaction(connection, self.url, self._keys, self._locks, space)
            try:
                self._begin(connection, f"{begin}; {enter(space)}")
                self._local.current = pid, transaction
                yield transaction, connection
            except BaseException:
                # In a process that was forked amid it, the connection is the parent's.
                if pid == os.getpid():
                    with suppress(psycopg.Error):
                        connection.execute("ROLLBACK")
                raise
            finally:
                self._local.current = 0, None

    def _begin(self, connection: PgConnection, begin: str) -> None:
        """Begin a transaction, in one round trip. Raises JournalVersionError.

        Whether a newer treering has changed the tables meanwhile is seen by every transaction.
        """
        with translate_errors(self.url):
            cursor = connection.execute(f"{begin}; {_VERSION}")
            while cursor.nextset():
                pass
            version = cursor.fetchone()
        if version is not None:
            refuse_unreadable(int(version[0]), self.url)

    @contextmanager
    def _borrowed(self) -> Iterator[PgConnection]:
        """A connection of the pool; that of this thread's transaction, if one is under way."""
        current = self._current()
        if current is not None:
            yield current.connection
            return
        pool, pid = self._pool, os.getpid()
        with translate_errors(self.url):
            connection = self._get(pool)
        try:
            yield connection
        finally:
            if pid == os.getpid():
                pool.putconn(connection)

    def _get(self, pool: Pool) -> PgConnection:
        try:
            with suppress(PoolTimeout):
                return pool.getconn(PROBE_S)
            with self._connect():  # says what is wrong if the server cannot be reached
                pass
            return pool.getconn()
        except PoolClosed:
            raise JournalError(self._closed_message) from None

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """Around everything that uses a connection: closing and forking wait for it."""
        with forks.gate.inside():
            with self._idle:
                if self._closed:
                    raise JournalError(self._closed_message)
                self._inside[threading.get_ident()] += 1
            try:
                yield
            finally:
                with self._idle:
                    self._inside -= Counter({threading.get_ident(): 1})  # drops what reaches zero
                    self._idle.notify_all()

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

    def _new_pool(self) -> Pool:
        return ConnectionPool(
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

    def _renew_in_child(self) -> None:
        """Begin again in a forked process: the connections are the parent's."""
        forks.abandon(self._pool)
        holder = self._process.renew_in_child()
        if holder is not None:
            forks.abandon(holder)
        self._queues, self._idle = locks.WriterQueues(self._location.pool), threading.Condition()
        self._inside.clear()
        self._local = threading.local()
        if not self._closed:
            self._pool = self._new_pool()
