"""The one place that opens files which a user names; it never opens those of the memory itself.

Opening and closing a file that SQLite has open drops SQLite's locks (see
``treering.journal.posix_locks``). Another process may then remove its log, and acknowledged entries
with it. So no other module of the package opens a file that a user named, or that lies in a user's
folder; a test checks that.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from treering.errors import InputError
from treering.journal import posix_locks

if TYPE_CHECKING:
    import zipfile

    AnyFile = Path | zipfile.Path
    """A file on this disk, or a member of an archive."""

_SHOWN_CHARS = 200  # of a path in a message
REASON = "the memory itself"
"""The reason for skipping a file."""


def is_memory(path: Path) -> bool:
    """Return whether a path leads to a database that is open here, or to its log."""
    return posix_locks.is_open(path)


def refuse_memory(path: Path) -> None:
    """Raise InputError if a path leads to a database that is open here, or its log."""
    if is_memory(path):
        raise InputError(f"{path} is {REASON}; give another file")


def exists(path: str | Path) -> bool:
    """Return whether there is a file or folder of that name; False for an impossible name."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return False


@contextmanager
def looking_at(path: Path) -> Iterator[None]:
    """Turn an OSError of a path into InputError."""
    try:
        yield
    except OSError as error:
        name = f"{str(path)[:_SHOWN_CHARS]}…" if len(str(path)) > _SHOWN_CHARS else str(path)
        raise InputError(
            f"{name!r} cannot be read ({error.strerror}); give a file or folder that can be"
        ) from error


@contextmanager
def open_file(path: AnyFile) -> Iterator[BinaryIO]:
    """The bytes of a file. Raises OSError, and InputError for the memory itself."""
    if not isinstance(path, Path):
        with path.open("rb") as member:
            yield cast(BinaryIO, member)
        return
    refuse_memory(path)  # first: looking does no harm, while opening and closing would
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        # Between the look and now the path may have come to lead to a memory.
        if posix_locks.is_open(descriptor):
            raise InputError(f"{path} is {REASON}; give another file")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            yield stream
    finally:
        posix_locks.close(descriptor)


def read_bytes(path: AnyFile) -> bytes:
    """All bytes of a file. Raises OSError, and InputError for the memory itself."""
    with open_file(path) as stream:
        return stream.read()


def read_replaced(path: Path) -> str:
    """The text of a file with line ends as ``\\n``; bytes that are not UTF-8 are replaced.

    Raises OSError, and InputError for the memory itself.
    """
    text = read_bytes(path).decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def replace_file(path: Path, content: bytes | None, *, private: bool = False) -> None:
    """Replace the content of a file atomically; None removes the file.

    It keeps its permissions; a new one can be read by its owner alone if it is ``private``.
    Raises InputError.
    """
    try:
        if content is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content, private)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror}); nothing was changed"
        ) from error


def _replace(path: Path, content: bytes, private: bool) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    part = Path(name)  # which its owner alone can read
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            part.chmod(path.stat().st_mode & 0o7777)
        elif not private:
            part.chmod(0o666 & ~_umask())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
