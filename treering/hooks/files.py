"""Files that agents and their clients read at the same time: read whole."""

from __future__ import annotations

import json
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


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, those inside others first, as far as they are empty."""
    for folder in folders:
        with suppress(OSError):  # it is not empty, or not there
            folder.rmdir()
