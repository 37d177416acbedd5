"""Errors of SQLite, translated to errors of treering that say what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType

from treering.errors import (
    InputError,
    JournalBusy,
    JournalCorrupt,
    JournalError,
    JournalFull,
)

BUSY_TIMEOUT_S = 60.0  # a large document of another process is one transaction
_DAMAGED = ("Could not decode to UTF-8", "malformed JSON")


class translate_errors:  # noqa: N801 - it is called like a function
    """Turn every error of sqlite3 into an error of treering that says what to do."""

    # No generator: one is entered for each statement, and takes as long as a small statement.
    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if error is None:
            return
        if isinstance(error, sqlite3.Error):
            raise _translate(error, self._path) from error
        if isinstance(error, UnicodeDecodeError):  # in a message of SQLite about damage
            raise JournalCorrupt(
                f"{self._path}: not a readable treering file. Restore a copy or import an export"
            ) from error
        if isinstance(error, (UnicodeEncodeError, OverflowError)):
            raise InputError(f"a value cannot be stored: {error}") from error


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process or connection held a lock."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_damaged(error: sqlite3.Error) -> bool:
    """Return whether the file is damaged, or not a database."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(error: sqlite3.Error) -> int:
    # The primary result code is the low byte of the extended one.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _translate(error: sqlite3.Error, path: Path) -> JournalError:
    code = _code(error)
    if is_busy(error):
        return JournalBusy(
            f"{path}: another process kept writing for over {BUSY_TIMEOUT_S:.0f} s; try again"
        )
    if code == sqlite3.SQLITE_FULL:
        return JournalFull(
            f"{path}: no space left to write; nothing of this change was stored. "
            "Free some disk space and repeat it"
        )
    if is_damaged(error):
        return JournalCorrupt(
            f"{path}: not a readable treering file ({error}). Restore a copy or import an export; "
            "`treering doctor` lists the damage"
        )
    if str(error).startswith(_DAMAGED):  # the driver's own words; they may quote a text
        return JournalCorrupt(f"{path}: holds bad text or JSON; `treering doctor` lists the damage")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return no_permission(path, error)
    if code == sqlite3.SQLITE_PROTOCOL:  # a lock failed
        return not_lockable(path, error)
    if code == sqlite3.SQLITE_IOERR:
        return JournalError(
            f"{path}: the disk failed ({error}); nothing of this change was stored. Check the "
            "disk, its free space and your quota, and repeat it"
        )
    return JournalError(f"{path}: {error}")


def no_permission(path: Path, error: Exception) -> JournalError:
    """The error of a file that may not be read or written."""
    return JournalError(
        f"{path}: no permission ({error}); the file and its folder must be readable and writable"
    )


def not_lockable(path: Path, error: Exception) -> JournalError:
    """The error of a file on a file system where locks fail."""
    return JournalError(
        f"{path}: cannot be locked ({error}); keep it on a disk whose files can be, not on a "
        "network file system without locks"
    )
