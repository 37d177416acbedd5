"""This process's own use of a file that SQLite has open: one stream, without which locks are lost.

POSIX takes all locks of a process on a file away as soon as the process closes any descriptor of
it. Were the file opened and closed here, another process could take itself for the last user and
remove the write-ahead log from under this one (https://sqlite.org/howtocorrupt.html, 2.2). So a
file is opened once, and closed when no database of this process has it open any more.

That makes a lock on one byte, far behind all that SQLite reads or locks, a sign of life: the
system takes it away with the process, however that ends, and no number of a process is needed,
which another one has later or in another container. It is taken away together with SQLite's locks
too, so that it tells whether those still stand.
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

from treering import forks

if sys.platform != "win32":
    import fcntl

Inode = tuple[int, int]

SIDECARS: Final = ("-wal", "-shm", "-journal")
PRIVATE: Final = 0o600
"""A memory is its owner's alone. SQLite gives the files beside it the same mode."""

_FIRST: Final = 1 << 62
"""Bytes from here on stand for processes; SQLite's files end before 2 ** 49."""
_FLOCK: Final = "hhqqi0q"  # struct flock: type, whence, start, length, process


@dataclass(slots=True)
class _OpenFile:
    """A file that databases of this process have open."""

    name: str
    stream: FileIO
    users: int = 0
    number: int | None = None  # this process' presence; a fork inherits no locks
    waiting: list[int] = field(default_factory=list)  # descriptors to close after SQLite's


_lock = threading.Lock()  # protects what follows, and the position in a stream while it is used
_files: dict[Inode, _OpenFile] = {}
_unusable: set[Inode] = set()
FORKED: Final = (
    "it was being read or written when this process was forked; fork when nothing is under way, or "
    "start processes with the method 'spawn'"
)


def inode_of(path: str | Path | int) -> Inode | None:
    """The file that a path or descriptor leads to, or None. Looking drops no lock."""
    try:
        status = os.stat(path)  # noqa: PTH116  # a descriptor too
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def enter(path: Path) -> Inode:
    """Announce that a database is about to open the file; pass the result to :func:`leave`.

    A file that does not exist is created, readable by its owner alone. Raises OSError.
    """
    name = os.path.realpath(path)  # SQLite names its log after the file that a link leads to
    with _lock:
        _create(name)
        inode = inode_of(name)
        if inode is None or inode not in _files:
            if not stat.S_ISREG(os.stat(name).st_mode):  # noqa: PTH116
                raise OSError("it is not a file; give the path of one")
            stream = FileIO(name, "r+")  # a lock of one's own needs the right to write
            # Asked again: a file of a container's image gets another inode when it is opened so.
            status = os.fstat(stream.fileno())
            inode = status.st_dev, status.st_ino
            _files[inode] = _OpenFile(name, stream)
        if inode in _unusable:
            raise OSError(FORKED)
        _files[inode].users += 1
    return inode


def _create(name: str) -> None:
    with suppress(FileExistsError):
        os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))


def leave(inode: Inode) -> None:
    """Announce that a database has closed all its connections to the file."""
    with _lock:
        _files[inode].users -= 1
        if not _files[inode].users:
            file = _files.pop(inode)
            # Closing drops all locks of the process on the file, and nobody needs them any more.
            file.stream.close()
            for descriptor in file.waiting:
                os.close(descriptor)


def is_open(path: Path | int) -> bool:
    """Whether a path or descriptor leads to a file that has been entered, or to one beside it."""
    return _of(inode_of(path)) is not None


def _of(inode: Inode | None) -> _OpenFile | None:
    if inode is None:
        return None
    for entered, file in _files.copy().items():
        names = (f"{file.name}{suffix}" for suffix in SIDECARS)
        if inode == entered or any(inode == inode_of(name) for name in names):
            return file
    return None


def close(descriptor: int) -> None:
    """Close a descriptor. If its file has been entered meanwhile, it is closed on leaving that."""
    with _lock:
        file = _of(inode_of(descriptor))
        if file is None:
            os.close(descriptor)
        else:
            file.waiting.append(descriptor)


@contextmanager
def stream(inode: Inode) -> Iterator[FileIO]:
    """The stream of a file that has been entered, for one thread at a time."""
    with _lock:
        yield _files[inode].stream


def ensure_lockable(inode: Inode) -> None:
    """Raise OSError where files cannot be locked, or locks are granted and not kept.

    Some network file systems are so. SQLite would take the first for another writer and wait.
    """
    if sys.platform == "win32":
        return
    place = _place()
    with stream(inode) as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        is_kept = not _is_free(file, place)
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
    if not is_kept:
        raise OSError(errno.ENOLCK, "a lock that was granted is not kept")


def _place() -> int:
    """A byte that no other process locks: one of 2 ** 61, by chance."""
    return _FIRST + secrets.randbits(61)


def presence(inode: Inode) -> int:
    """The number of this process in the file: a byte it keeps locked until it ends or leaves."""
    with stream(inode) as file:
        number = _files[inode].number
        if number is None:
            number = _place()
            if sys.platform != "win32":
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            _files[inode].number = number
        return number


def is_present(inode: Inode, number: int) -> bool:
    """Whether the process of a number has the file open.

    On Windows only this one is seen: the C library's locks end at 2 GiB there, and keep others from
    reading what SQLite may have at such a place.
    """
    with stream(inode) as file:
        if _files[inode].number == number:  # one's own lock stands in nobody's way
            return True
        return sys.platform != "win32" and _is_locked(file, number)


def has_lost_locks(inode: Inode) -> bool:
    """Whether the locks of this process on the file are gone: somebody opened and closed it.

    Raises OSError where locks fail altogether.
    """
    file = _files.get(inode)
    return file is not None and file.number is not None and _is_free(file.stream, file.number)


def _is_free(file: FileIO, place: int) -> bool:
    """Whether not even this process has locked a byte.

    An open file description is another owner of locks than its process, so it can ask for those of
    the process itself. Where the system has no such question, the answer is no.
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
    """Lock a new byte, after the locks were lost and all connections to the file were closed."""
    _files[inode].number = None
    presence(inode)


def renew_in_child() -> None:
    """Begin again in a forked process: it has no locks, and must not move the parent's position."""
    global _lock
    _lock = threading.Lock()
    for inode, file in _files.items():
        file.number = None
        with suppress(OSError):
            stream = FileIO(file.name, "r+")
            if inode_of(stream.fileno()) == inode:  # else the file was moved, and is not used more
                file.stream, stream = stream, file.stream
            stream.close()


def make_unusable(inode: Inode) -> None:
    """Refuse a file while this process lives: SQLite's state of it belongs to the parent."""
    _unusable.add(inode)


forks.call_in_child(renew_in_child)

if sys.platform != "win32":

    def _is_locked(file: FileIO, place: int) -> bool:
        try:  # shared, so that two who look at once do not see each other
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return True
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
        return False
