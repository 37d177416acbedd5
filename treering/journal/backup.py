"""A copy of a memory's file while others read and write it, by SQLite's backup API."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from treering.errors import InputError, JournalBusy, JournalError, UnknownName
from treering.journal import failures, opened, sqlite_connection
from treering.records import Progress
from treering.temporary import private_folder

STEP_PAGES: Final = 1024
"""Pages copied at a time: between two steps progress is told, and Ctrl-C heard."""

_READ: Final = "ro"
_WRITE: Final = "rw"

PAUSE_S: Final = 0.05
"""Before a step that could not be done is tried again."""


def backup(
    source: str | Path,
    target: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Copy the file of a memory to another path, whole and as of one moment; return its bytes.

    Others may read and write the memory meanwhile; the file is not changed. The copy holds all
    that the file does, keys of a server among it; only its owner may read it. It is there once it
    is complete, and durable then. ``progress`` is told pages.

    Raises UnknownName for a file that is not there, InputError for a target that is there unless
    ``overwrite``, or that is in use, JournalCorrupt for a file of another program, JournalBusy when
    somebody keeps the file or writes the same target for long, JournalFull and JournalError.
    """
    file, place = (Path(os.path.realpath(path)) for path in (source, target))
    names = _Names(Path(source), Path(target))
    _refuse(file, place, names, overwrite)
    try:
        with private_folder(place.parent, f".{place.name}.") as folder:
            copy = folder / place.name
            copy.touch(mode=opened.PRIVATE)
            _copy(file, copy, names, progress)
            _refuse_target(place, names.target, overwrite)  # it may have come to be meanwhile
            os.replace(copy, place)  # noqa: PTH105
    except PermissionError as error:
        raise failures.no_permission(names.target, error) from error
    except OSError as error:
        raise JournalError(f"{names.target} cannot be written: {error}") from error
    _sync(place.parent)
    return place.stat().st_size


@dataclass(frozen=True, slots=True)
class _Names:
    """What the caller calls the two files."""

    source: Path
    target: Path


def _refuse(file: Path, place: Path, names: _Names, overwrite: bool) -> None:
    """Raise an error for what cannot be copied, or not to there."""
    sqlite_connection.refuse_a_log_without_its_file(file)
    if not file.is_file():
        raise UnknownName(f"there is no memory at {names.source}; give the path of its file")
    sqlite_connection.refuse_other_files(file, names.source)
    if opened.is_open(place) or opened.inode_of(place) == opened.inode_of(file):
        raise InputError(f"{names.target} is a memory that is in use; give another path")
    if not place.parent.is_dir():
        raise InputError(f"{place.parent} is not a folder; create it first")
    _refuse_target(place, names.target, overwrite)


def _refuse_target(place: Path, target: Path, overwrite: bool) -> None:
    """Raise InputError for a target that must not be replaced."""
    if place.is_dir():
        raise InputError(f"{target} is a folder; give the path of a file in it")
    if place.exists() and not overwrite:
        raise InputError(f"{target} is there already; give another name or --force")
    for suffix in opened.SIDECARS:
        # A log would be taken for one of the copy, and undo it.
        if Path(f"{place}{suffix}").exists():
            raise InputError(
                f"{target}{suffix} lies there: {target} is in use, or was not closed; close what "
                "uses it, or give another name"
            )


def _copy(file: Path, copy: Path, names: _Names, progress: Progress | None) -> None:
    """Write the state of a database, as of now, to an empty file."""
    try:
        with closing(_connect(file)) as reading, closing(_connect(copy)) as writing:
            # One state: in a transaction of its own, no step begins again as others write.
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
            writing.execute("PRAGMA journal_mode=OFF")  # an unfinished copy is thrown away
            writing.execute("PRAGMA fullfsync=ON")
            told = _Steps(names.target, progress)
            reading.backup(writing, pages=STEP_PAGES, progress=told, sleep=PAUSE_S)
            reading.rollback()
    except sqlite3.Error as error:
        with failures.translated(names.source if failures.is_damaged(error) else names.target):
            raise


class _Steps:
    """Called after each step of a copy: tells the progress, and ends what waits for too long."""

    def __init__(self, target: Path, progress: Progress | None) -> None:
        self._target, self._progress = target, progress
        self._moved = time.monotonic()

    def __call__(self, status: int, remaining: int, total: int) -> None:
        now = time.monotonic()
        if status not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            self._moved = now
            if self._progress is not None:
                self._progress(total - remaining, total)
        elif now - self._moved > failures.BUSY_TIMEOUT_S:
            raise JournalBusy(
                f"{self._target}: the copy could not go on for over "
                f"{failures.BUSY_TIMEOUT_S:.0f} s; try again"
            )


def _connect(file: Path) -> sqlite3.Connection:
    """A connection to a file that is there. Closing it leaves the log as any other would."""
    return sqlite3.connect(
        f"{file.as_uri()}?mode=rw",
        uri=True,
        timeout=failures.BUSY_TIMEOUT_S,
        isolation_level=None,
    )


def _sync(folder: Path) -> None:
    """Make a renaming in a folder durable, where a folder can be opened."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
