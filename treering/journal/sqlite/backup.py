"""A copy of a memory's file while others read and write it, by SQLite's backup API."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

from treering.errors import InputError, JournalError, UnknownName
from treering.journal import posix_locks
from treering.journal.sqlite import connection
from treering.records import Progress
from treering.temporary import private_folder

STEP_PAGES: Final = 1024
"""Pages copied at a time: between two steps progress is reported, and Ctrl-C is noticed."""


def backup(
    source: str | Path,
    target: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Copy the file of a memory to another path, as of one moment; return the bytes of the copy.

    Other processes may read and write the memory meanwhile. The copy holds everything that the
    file holds, keys of a server included; only its owner may read it. It appears once it is
    complete and durable. ``progress`` counts pages.

    Raises UnknownName for a missing file, InputError for a target that exists unless ``overwrite``,
    or that is in use, JournalCorrupt for a file of another program, JournalFull and JournalError.
    """
    source, target = Path(source), Path(target)
    file, place = (Path(os.path.realpath(path)) for path in (source, target))
    connection.refuse_a_log_without_its_file(file)
    if not file.is_file():
        raise UnknownName(f"there is no memory at {source}; give the path of its file")
    connection.refuse_other_files(file, source)
    if posix_locks.is_open(place) or posix_locks.inode_of(place) == posix_locks.inode_of(file):
        raise InputError(f"{target} is a memory that is in use; give another path")
    if not place.parent.is_dir():
        raise InputError(f"{place.parent} is not a folder; create it first")
    _refuse_target(place, target, overwrite)
    try:
        with private_folder(place.parent, f".{place.name}.") as folder:
            copy = folder / place.name
            copy.touch(mode=posix_locks.PRIVATE)
            try:
                _copy(file, copy, progress)
            except sqlite3.Error as error:
                is_of_source = connection.is_damaged(error)
                with connection.translate_errors(source if is_of_source else target):
                    raise
            _refuse_target(place, target, overwrite)  # it may exist by now
            os.replace(copy, place)  # noqa: PTH105
    except PermissionError as error:
        raise connection.no_permission(target, error) from error
    except OSError as error:
        raise JournalError(f"{target} cannot be written: {error}") from error
    _sync(place.parent)
    return place.stat().st_size


def _refuse_target(place: Path, target: Path, overwrite: bool) -> None:
    """Raise InputError for a target that must not be replaced."""
    if place.is_dir():
        raise InputError(f"{target} is a folder; give the path of a file in it")
    if place.exists() and not overwrite:
        raise InputError(f"{target} exists already; give another name or --force")
    for suffix in posix_locks.SIDECARS:
        # SQLite would take it for the log of the copy, and undo the copy.
        if Path(f"{place}{suffix}").exists():
            raise InputError(
                f"{target}{suffix} exists: {target} is in use, or was not closed; close the "
                "program that uses it, or give another name"
            )


def _copy(file: Path, copy: Path, progress: Progress | None) -> None:
    """Write the state of a database, as of now, to an empty file."""

    def report(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    with closing(_connect(file)) as reading, closing(_connect(copy)) as writing:
        # One transaction, so that no step begins again when others write.
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        writing.execute("PRAGMA journal_mode=OFF")  # an unfinished copy is thrown away
        writing.execute("PRAGMA fullfsync=ON")
        reading.backup(writing, pages=STEP_PAGES, progress=report)
        reading.rollback()


def _connect(file: Path) -> sqlite3.Connection:
    """A connection to a file that is there. Closing it leaves the log as any other would."""
    return sqlite3.connect(
        f"{file.as_uri()}?mode=rw",
        uri=True,
        timeout=connection.BUSY_TIMEOUT_S,
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
