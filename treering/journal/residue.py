"""Looking for bytes in a file that SQLite has open, without letting go of SQLite's locks.

POSIX takes all locks of a process on a file away as soon as the process closes any descriptor of
it. Were the file opened and closed here, another process could take itself for the last user and
remove the write-ahead log from under this one (https://sqlite.org/howtocorrupt.html, 2.2). So a
file is opened once, and closed when no database of this process has it open any more.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from io import FileIO
from pathlib import Path

_BLOCK = 1 << 20

Inode = tuple[int, int]

_lock = threading.Lock()  # protects what follows, and the position in a stream while it is read
_users: Counter[Inode] = Counter()
_streams: dict[Inode, FileIO] = {}


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
            stream = _streams.pop(inode, None)
            if stream is not None:
                stream.close()


def holds(inode: Inode, path: Path, needles: Sequence[bytes]) -> bool:
    """Whether any of the needles is in the bytes of a file that has been entered."""
    with _lock:
        if inode not in _streams:
            _streams[inode] = FileIO(path)
        _streams[inode].seek(0)
        return _found(_streams[inode], needles)


def log_holds(path: Path, needles: Sequence[bytes]) -> bool:
    """The same of a write-ahead log, on which SQLite keeps no locks."""
    with FileIO(path) as stream:
        return _found(stream, needles)


def _found(stream: FileIO, needles: Sequence[bytes]) -> bool:
    overlap = max(map(len, needles), default=1) - 1
    tail = b""
    while block := stream.read(_BLOCK):
        window = tail + block
        if any(needle in window for needle in needles):
            return True
        tail = window[-overlap:] if overlap else b""
    return False
