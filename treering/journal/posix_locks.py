"""Keep one file handle per open database: closing any other handle drops SQLite's locks.

POSIX drops all locks of a process on a file when the process closes any descriptor of it. Another
process could then take itself for the last user and remove the write-ahead log
(https://sqlite.org/howtocorrupt.html, 2.2). So a file is opened once, and closed when no database
of this process has it open.

A lock on one byte, far behind all bytes that SQLite uses, is therefore a sign of life: the
system drops it with the process. The number of the byte is better than that of a process, which
another process may get later or in another container. The system drops it together with SQLite's
locks, too, so it shows whether those are still held.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

Inode = tuple[int, int]

SIDECARS: Final = ("-wal", "-shm", "-journal")
PRIVATE: Final = 0o600
"""Only the owner may read a memory. SQLite gives the files beside it the same mode."""

_FIRST: Final = 1 << 62
"""Bytes from here on are presences; SQLite's files end before 2 ** 49."""
_FLOCK: Final = "hhqqi0q"  # struct flock: type, whence, start, length, process


@dataclass(slots=True)
class _OpenFile:
    """A file that databases of this process have open."""

    name: str
    stream: FileIO
    users: int = 0
    number: int | None = None  # the presence of this process; a fork inherits no locks
    unclosed: list[int] = field(default_factory=list)  # descriptors to close after SQLite's


_lock = threading.Lock()  # protects what follows, and the position in a stream while it is used
_files: dict[Inode, _OpenFile] = {}
_unusable: set[Inode] = set()
_FORKED: Final = (
    "it was being read or written when this process was forked; fork when nothing is under way, or "
    "start processes with the method 'spawn'"
)


def inode_of(path: str | Path | int) -> Inode | None:
    """Return the file that a path or descriptor leads to, or None. Looking drops no lock."""
    try:
        status = os.stat(path)  # noqa: PTH116  # a descriptor too
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def enter(path: Path) -> Inode:
    """Announce that a database is about to open a file; pass the result to ``leave``.

    A missing file is created, readable by its owner alone. Raises OSError.
    """
    name = os.path.realpath(path)  # SQLite names its log after the file that a link leads to
    with _lock:
        with suppress(FileExistsError):
            os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
        inode = inode_of(name)
        if inode is None or inode not in _files:
            if not stat.S_ISREG(os.stat(name).st_mode):  # noqa: PTH116
                raise OSError("it is not a file; give the path of one")
            stream = FileIO(name, "r+")  # an exclusive lock needs the right to write
            # Again: a file of a container's image gets another inode when it is opened for writing.
            status = os.fstat(stream.fileno())
            inode = status.st_dev, status.st_ino
            _files[inode] = _OpenFile(name, stream)
        if inode in _unusable:
            raise OSError(_FORKED)
        _files[inode].users += 1
    return inode


def leave(inode: Inode) -> None:
    """Announce that a database has closed all its connections to the file."""
    with _lock:
        _files[inode].users -= 1
        if not _files[inode].users:
            file = _files.pop(inode)
            # Closing drops all locks of the process on the file, which has no use for them now.
            file.stream.close()
            for descriptor in file.unclosed:
                os.close(descriptor)


def is_open(path: Path | int) -> bool:
    """Return whether a path or descriptor leads to an open database, or to a file beside it."""
    return _open_file(inode_of(path)) is not None


def _open_file(inode: Inode | None) -> _OpenFile | None:
    if inode is None:
        return None
    for entered, file in _files.copy().items():
        names = (f"{file.name}{suffix}" for suffix in SIDECARS)
        if inode == entered or any(inode == inode_of(name) for name in names):
            return file
    return None


def close(descriptor: int) -> None:
    """Close a descriptor; later, if it is one of a database that was opened meanwhile."""
    with _lock:
        file = _open_file(inode_of(descriptor))
        if file is None:
            os.close(descriptor)
        else:
            file.unclosed.append(descriptor)


@contextmanager
def stream(inode: Inode) -> Iterator[FileIO]:
    """The handle of an open database, for one thread at a time."""
    with _lock:
        yield _files[inode].stream


def ensure_lockable(inode: Inode) -> None:
    """Raise OSError where files cannot be locked, or locks are granted and then lost.

    Some network file systems do that. SQLite would wait for another writer in the first case.
    """
    if sys.platform == "win32":
        return
    place = _random_byte()
    with stream(inode) as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        is_kept = not _is_free(file, place)
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
    if not is_kept:
        raise OSError(errno.ENOLCK, "a lock that was granted is not kept")


def _random_byte() -> int:
    """Return one of 2 ** 61 bytes, so that no other process locks the same."""
    return _FIRST + secrets.randbits(61)


def presence(inode: Inode) -> int:
    """Return the byte that this process keeps locked until it ends or leaves."""
    with stream(inode) as file:
        number = _files[inode].number
        if number is None:
            number = _random_byte()
            if sys.platform != "win32":
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            _files[inode].number = number
        return number


def is_present(inode: Inode, number: int) -> bool:
    """Return whether the process of a number has the file open.

    On Windows only this process is seen: locks of the C library end at 2 GiB there, and keep other
    processes from reading the byte.
    """
    with stream(inode) as file:
        if _files[inode].number == number:  # a process does not see its own lock
            return True
        return sys.platform != "win32" and _is_locked(file, number)


def has_lost_locks(inode: Inode) -> bool:
    """Return whether this process has lost its locks, because it opened and closed the file.

    Raises OSError where locks fail.
    """
    file = _files.get(inode)
    return file is not None and file.number is not None and _is_free(file.stream, file.number)


def _is_free(file: FileIO, place: int) -> bool:
    """Return whether no process, this one included, has locked a byte.

    An open file description owns other locks than its process, so it sees those of the process.
    Where the system cannot ask that, the answer is no.
    """
    if sys.platform != "linux":
        return False
    question = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    try:
        answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, question)
    except OSError as error:
        if error.errno == errno.EINVAL:  # a kernel that does not know the question
            return False
        raise
    return bool(struct.unpack(_FLOCK, answer)[0] == fcntl.F_UNLCK)


def relock(inode: Inode) -> None:
    """Lock a new byte, after the locks were lost and all connections were closed."""
    _files[inode].number = None
    presence(inode)


def leave_to_parent(*, was_quiet: bool) -> None:
    """Begin again in a forked process, which holds no locks. Unless the parent ``was_quiet``,
    SQLite's state of its files stays, and no connection of this process would take locks.
    """
    global _lock
    _lock = threading.Lock()
    if not was_quiet:
        _unusable.update(_files)
    _files.clear()


if sys.platform != "win32":

    def _is_locked(file: FileIO, place: int) -> bool:
        try:  # shared, so that two processes that look do not see each other
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return True
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
        return False
