"""A sign of life of a process in PostgreSQL: a lock that the server frees with the connection."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import psycopg
from psycopg.rows import TupleRow

_BITS: Final = 62
_LOW: Final = (1 << 32) - 1
_KEEP_ALIVE: Final = (
    "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
)
"""A machine that is gone is noticed within a minute; the server's default takes two hours."""

_LOCKED: Final = """
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND CAST(classid AS BIGINT) = %s AND CAST(objid AS BIGINT) = %s
"""


class Presence:
    """The number of this process, held by a connection that does nothing else."""

    def __init__(self, connect: Callable[[], psycopg.Connection[TupleRow]]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._holder: psycopg.Connection[TupleRow] | None = None
        self._number = 0

    def number(self) -> int:
        """The number; another one once the connection that held it was lost."""
        with self._lock:
            if self._holder is None or not _is_alive(self._holder):
                self._begin()
            return self._number

    def hold(self, lock: int) -> bool:
        """Take a lock for this process; False if another one has it. Raises psycopg.Error."""
        with self._lock:
            if self._holder is not None:
                try:
                    return _locked(self._holder, lock)
                except psycopg.OperationalError:  # lost with all it held; asked once more
                    self._holder.close()
            return _locked(self._begin(), lock)

    def free(self, lock: int) -> None:
        """Give a lock up, unless it went with a connection that was lost."""
        with self._lock:
            if self._holder is not None:
                with suppress(psycopg.Error):
                    self._holder.execute("SELECT pg_advisory_unlock(%s)", (lock,))

    def close(self) -> None:
        """Give the number up."""
        with self._lock:
            if self._holder is not None:
                self._holder.close()
                self._holder = None

    def _begin(self) -> psycopg.Connection[TupleRow]:
        """Connect, and hold a new number."""
        holder = self._connect()
        number = secrets.randbits(_BITS) | 1
        holder.execute(_KEEP_ALIVE)
        holder.execute("SELECT pg_advisory_lock(%s)", (number,))
        self._holder, self._number = holder, number
        return holder

    def abandon(self) -> psycopg.Connection[TupleRow] | None:
        """Begin again in a forked process; returns the connection of the parent, if it has one."""
        self._lock = threading.Lock()
        holder, self._holder = self._holder, None
        return holder


def is_held(connection: psycopg.Connection[TupleRow], number: int) -> bool:
    """Whether some process has that number now."""
    row = connection.execute(_LOCKED, (number >> 32, number & _LOW)).fetchone()
    return row is not None


def _locked(connection: psycopg.Connection[TupleRow], lock: int) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (lock,)).fetchone()
    return row is not None and bool(row[0])


def _is_alive(connection: psycopg.Connection[TupleRow]) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        connection.close()
        return False
    return True
