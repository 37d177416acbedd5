"""This process's own use of a file that SQLite has open: one stream, without which locks are lost.

POSIX takes all locks of a process on a file away as soon as the process closes any descriptor of
it. Were the file opened and closed here, another process could take itself for the last user and
remove the write-ahead log from under this one (https://sqlite.org/howtocorrupt.html, 2.2). So a
file is opened once, and closed when no database of this process has it open any more.

That makes a lock on one byte, far behind all that SQLite reads or locks, a sign of life: the
system takes it away with the process, however that ends, and no number of a process is needed,
which another one has later or in another container.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

Inode = tuple[int, int]

_FIRST: Final = 1 << 62
"""Bytes from here on stand for processes; SQLite's files end before 2 ** 49."""

_lock = threading.Lock()  # protects what follows, and the position in a stream while it is used
_users: Counter[Inode] = Counter()
_streams: dict[Inode, FileIO] = {}
_present: dict[Inode, tuple[int, int]] = {}  # with the process: a fork inherits no locks


def enter(path: Path) -> Inode:
    """Say that a database has opened the file; what is returned is given to :func:`leave`."""
    status = path.stat()
    inode = status.st_dev, status.st_ino
    with _lock:
        _users[inode] += 1
    return inode


def leave(inode: Inode) -> None:
    """Say that a database has closed all its connections to the file."""
    with _lock:
        _users[inode] -= 1
        if not _users[inode]:
            del _users[inode]
            _present.pop(inode, None)
            stream = _streams.pop(inode, None)
            if stream is not None:
                stream.close()


@contextmanager
def stream(inode: Inode, path: Path) -> Iterator[FileIO]:
    """The stream of a file that has been entered, for one thread at a time."""
    with _lock:
        if inode not in _streams:
            _streams[inode] = FileIO(path, "r+")  # a lock of one's own needs the right to write
        yield _streams[inode]


def presence(inode: Inode, path: Path) -> int:
    """The number that this process is present by until it ends or leaves the file."""
    with stream(inode, path) as file:
        process, number = _present.get(inode, (0, 0))
        if process != os.getpid():
            number = _FIRST + secrets.randbits(61)
            if sys.platform != "win32":
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            _present[inode] = os.getpid(), number
        return number


def is_present(inode: Inode, path: Path, number: int) -> bool:
    """Whether the process of a number has the file open.

    On Windows only this one is seen: the C library's locks end at 2 GiB there, and keep others from
    reading what SQLite may have at such a place.
    """
    with stream(inode, path) as file:
        if _present.get(inode) == (os.getpid(), number):  # one's own lock stands in nobody's way
            return True
        return sys.platform != "win32" and _is_locked(file, number)


if sys.platform != "win32":

    def _is_locked(file: FileIO, place: int) -> bool:
        try:  # shared, so that two who look at once do not see each other
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return True
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
        return False
