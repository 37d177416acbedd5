"""The jobs of hooks that wait for the warm server: one small file each, durable and masked."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from treering.hooks.places import agents_home, make_private

KEEP_S = 30 * 86_400.0
"""For so long a job that fails is tried again: a drive may be away, or an update missing."""
UNFINISHED_S = 60.0
"""No hook runs longer: a file that is unfinished after this belongs to a killed process."""

LOCK_S = 10.0
"""Saving the messages of a turn takes far less; a long transcript may take more."""


def folder_of(memory: str) -> Path:
    """Return the folder of a memory's waiting files."""
    key = hashlib.sha256(str(Path(memory).resolve()).encode()).hexdigest()[:16]
    return agents_home() / "inbox" / key


def leave(memory: str, job: dict[str, Any]) -> None:
    """Leave a job if something was said; it is durable, whole and masked when this returns."""
    messages, hidden = _mask(job["messages"])
    if not job["transcript"] and not messages:
        return
    content = json.dumps(job | {"messages": messages, "hidden": hidden}).encode()
    folder = make_private(folder_of(memory))
    path = folder / f"{time.time_ns():020}-{os.getpid()}-{os.urandom(3).hex()}.json"
    try:
        _write(path, content)
    except FileNotFoundError:  # `discard` ran meanwhile
        _write(path, content)
    _sync(folder)


def waiting_jobs(memory: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Iterate over the jobs in the order they were left; one that is damaged is empty."""
    for path in _files(memory, "*.json"):
        try:
            job = json.loads(path.read_bytes())
        except FileNotFoundError:
            continue  # another server was quicker
        except OSError as error:
            from treering.errors import InputError  # here, as hooks do not need it

            raise InputError(
                f"{path} cannot be read ({error.strerror}); remove it or make it readable"
            ) from error
        except ValueError:
            job = None
        yield path, job if isinstance(job, dict) else {}


@contextmanager
def alone(memory: str) -> Iterator[None]:
    """Keep others from saving or discarding jobs meanwhile; after a while go on beside them."""
    folder = folder_of(memory)
    if not folder.is_dir():  # no hook has used this memory
        yield
        return
    from filelock import FileLock, Timeout  # here, as hooks do not need it

    lock = FileLock(folder / "lock", timeout=LOCK_S)
    with suppress(Timeout):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def age_s(path: Path) -> float:
    """Return the seconds since a file was written; 0 if it was removed meanwhile."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0


def sweep(memory: str) -> None:
    """Remove the unfinished files of processes that were killed."""
    for path in _unfinished_files(memory):
        with suppress(FileNotFoundError):  # it was finished meanwhile
            if age_s(path) > UNFINISHED_S:
                path.unlink()


def discard(memory: str, space: str) -> None:
    """Remove the jobs of a space, and all unfinished files: they may be of it."""
    for path, job in waiting_jobs(memory):
        if job.get("space") in (space, None):
            path.unlink(missing_ok=True)
    for path in _unfinished_files(memory):
        path.unlink(missing_ok=True)


def _unfinished_files(memory: str) -> list[Path]:
    """Return the files of ``_write`` and of ``replace_file``."""
    return [*_files(memory, "*.part"), *_files(memory, ".*"), *agents_home().glob(".*")]


def _files(memory: str, pattern: str) -> list[Path]:
    return sorted(folder_of(memory).glob(pattern))


def _mask(messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], tuple[int, int]]:
    """Return messages without secrets and private passages, and the counts of both."""
    if not messages:
        return [], (0, 0)
    from treering.ingest.secrets import Cleaner  # takes a tenth of a second

    cleaner = Cleaner()
    clean = [message | {"content": cleaner.clean(message["content"])} for message in messages]
    left = [message for message in clean if message["content"].strip()]
    return left, (cleaner.masked, cleaner.private)


def _write(path: Path, content: bytes) -> None:
    part = path.with_suffix(".part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(handle)
    part.rename(path)


def _sync(folder: Path) -> None:
    if sys.platform == "win32":  # which opens no folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
