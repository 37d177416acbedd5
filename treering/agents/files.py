"""Files that other programs read at the same time: read whole, replaced whole."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from treering import files
from treering.errors import InputError, TextEncodingError


def read_bytes(path: Path) -> bytes | None:
    """What is in a file; None if there is none. Raises InputError if it cannot be read."""
    try:
        return files.read_bytes(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); nothing was changed"
        ) from error


def read_record(path: Path) -> dict[str, Any]:
    """The JSON object in a file of ours; empty if there is none, or it is damaged.

    Raises InputError if it cannot be read.
    """
    try:
        record = json.loads(read_bytes(path) or b"{}")
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def text_of(content: bytes | None) -> str:
    """The text of a file, the empty one if there is none. Raises TextEncodingError."""
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise TextEncodingError(f"not UTF-8 at byte {error.start}; save it as UTF-8") from error


def replace_file(path: Path, content: bytes | None, *, private: bool = False) -> None:
    """Make a file hold this, at once and whole; None removes it.

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


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, those inside others first, as far as they are empty."""
    for folder in folders:
        with suppress(OSError):  # it is not empty, or not there
            folder.rmdir()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
