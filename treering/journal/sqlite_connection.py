"""Connections to a file: how each is opened, and the settings that it has."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from treering.journal import failures

PAGE_SIZE = 8192  # five 384-dimensional vectors a page; 4096 would waste a quarter of each
CONNECT_PAUSE_S = 0.005
SHORTEST_LOOK_S = 0.001
LONGEST_LOOK_S = 0.008
"""Between two looks whether another writer is done."""

CACHE_KIB = 16_384  # beyond this a long transaction spills to the WAL: memory stays constant


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
    # Told each time: whoever is interrupted leaves the connection to others as it is.
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
    # SQLite itself looks again after ever longer pauses, of a tenth of a second in the end: whoever
    # waits for a writer who is done after that time would wait for twice as long.
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
        f"{file.as_uri()}?mode=rw",  # what is gone is not made anew, empty
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
