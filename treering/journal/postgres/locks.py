"""Locks of PostgreSQL: of writers, of tasks, and as a sign of life of a process.

They are advisory locks. The server frees them with the transaction or the connection that holds
them, however that ends.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import psycopg
from psycopg.rows import TupleRow

PgConnection = psycopg.Connection[TupleRow]

TASK_PAUSE_S: Final = 0.02
"""Between two attempts to take a task that another process has."""

_DIGEST_BYTES: Final = (
    7  # locks of a digest have negative numbers, those of processes positive ones
)
_PROCESS_BITS: Final = 62
_LOW: Final = (1 << 32) - 1
_KEEP_ALIVE: Final = (
    "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
)
"""The server notices within a minute that a machine is gone; its default is two hours."""

_IS_HELD: Final = """
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND CAST(classid AS BIGINT) = %s AND CAST(objid AS BIGINT) = %s
"""


class WriterLocks:
    """Statements that take the locks of writers of a schema until the transaction ends."""

    def __init__(self, schema: str) -> None:
        self._schema = schema
        self._whole = _number("treering", schema)
        self.for_shared_rows = (
            f"SELECT pg_advisory_xact_lock({_number('treering', schema, 'shared rows')})"
        )

    def for_writer_of(self, space: str | None) -> str:
        """Keep out other writers of a space, or without a name those of all spaces."""
        if space is None:
            return f"SELECT pg_advisory_xact_lock({self._whole})"
        number = _number("treering", self._schema, "space", space)
        return (
            f"SELECT pg_advisory_xact_lock_shared({self._whole});"
            f" SELECT pg_advisory_xact_lock({number})"
        )


def _number(*parts: str) -> int:
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return -int.from_bytes(digest[:_DIGEST_BYTES]) - 1


class ProcessLocks:
    """Locks of this process: its presence, and its tasks. One idle connection holds them all."""

    def __init__(self, connect: Callable[[], PgConnection], schema: str) -> None:
        self._connect = connect
        self._schema = schema
        self._holder: PgConnection | None = None
        self._number = 0
        self._lock = threading.Lock()  # protects the connection
        self._changed = threading.Condition()  # protects the tasks that threads have taken
        self._tasks: set[int] = set()

    def presence(self) -> int:
        """Return the number of this process; another one once the connection was lost."""
        with self._lock:
            if self._holder is None or not _is_alive(self._holder):
                self._open()
            return self._number

    @contextmanager
    def task(self, name: str, wait_s: float) -> Iterator[bool]:
        """See ``Database.task``."""
        lock = _number("treering", self._schema, "task", name)
        until = time.monotonic() + wait_s
        with self._changed:  # threads of this process share the connection, and its locks
            if not self._changed.wait_for(lambda: lock not in self._tasks, wait_s):
                is_ours = False
            else:
                self._tasks.add(lock)
                is_ours = True
        if not is_ours:
            yield False
            return
        try:
            while not (is_held := self._hold(lock)) and time.monotonic() < until:
                time.sleep(TASK_PAUSE_S)
            try:
                yield is_held
            finally:
                if is_held:
                    self._free(lock)
        finally:
            with self._changed:
                self._tasks.discard(lock)
                self._changed.notify_all()

    def close(self) -> None:
        """Give up all locks."""
        with self._lock:
            if self._holder is not None:
                self._holder.close()
                self._holder = None

    def _open(self) -> PgConnection:
        holder = self._connect()
        number = secrets.randbits(_PROCESS_BITS) | 1
        holder.execute(_KEEP_ALIVE)
        holder.execute("SELECT pg_advisory_lock(%s)", (number,))
        self._holder, self._number = holder, number
        return holder

    def _hold(self, lock: int) -> bool:
        """Take a lock; False if another process has it. Raise psycopg.Error."""
        with self._lock:
            if self._holder is not None:
                try:
                    return _try_lock(self._holder, lock)
                except psycopg.OperationalError:  # the connection was lost with all its locks
                    self._holder.close()
            return _try_lock(self._open(), lock)

    def _free(self, lock: int) -> None:
        with self._lock, suppress(psycopg.Error):
            if self._holder is not None:
                self._holder.execute("SELECT pg_advisory_unlock(%s)", (lock,))


def is_held(connection: PgConnection, number: int) -> bool:
    """Return whether some process has that number now."""
    row = connection.execute(_IS_HELD, (number >> 32, number & _LOW)).fetchone()
    return row is not None


def _try_lock(connection: PgConnection, lock: int) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (lock,)).fetchone()
    return row is not None and bool(row[0])


def _is_alive(connection: PgConnection) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        connection.close()
        return False
    return True


@dataclass(slots=True)
class _Queue:
    """The turn of a space's writers."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class WriterQueues:
    """A queue for the writers of each space, and one for those of the whole database.

    A thread queues here before it takes a connection: one that waits with a connection in its hand
    keeps it from searches.
    """

    def __init__(self, connections: int) -> None:
        self._room = threading.BoundedSemaphore(max(connections // 2, 1))
        self._lock = threading.Lock()  # protects the queues
        self._queues: dict[str | None, _Queue] = {}

    @contextmanager
    def turn(self, space: str | None) -> Iterator[None]:
        """The time in which one thread of this process writes to a space."""
        with self._lock:
            queue = self._queues.setdefault(space, _Queue())
            queue.waiting += 1
        try:
            with queue.turn, self._room:
                yield
        finally:
            with self._lock:
                queue.waiting -= 1
                if not queue.waiting:
                    del self._queues[space]
