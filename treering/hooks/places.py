"""The user's own memory and its folder, in the place that the platform has for data.

Imported by every hook, so it imports nothing heavy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs


def data_home() -> Path:
    """Return the folder of the user's own memory, such as ``~/.local/share/treering``."""
    return platformdirs.user_data_path("treering", appauthor=False)


def user_memory() -> Path:
    """Return the file of the user's own memory."""
    return data_home() / "memory.db"


def agents_home() -> Path:
    """Return the folder for agents: changed settings, the log of hooks, waiting messages."""
    return data_home() / "agents"


def make_private(folder: Path) -> Path:
    """Make a folder, and the data home above it, that only their owner may enter."""
    for place in (data_home(), folder):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of the folders that are empty, in this order."""
    for folder in folders:
        with suppress(OSError):  # it is not empty, or not there
            folder.rmdir()


def read_record(path: Path) -> dict[str, Any]:
    """Return the JSON object in one of our files; an empty one if it is missing or damaged.

    Raise InputError if it cannot be read.
    """
    try:
        record = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    except OSError as error:
        from treering.errors import InputError  # only here: a hook has to start quickly

        raise InputError(
            f"{path} cannot be read ({error.strerror}); nothing was changed"
        ) from error
    return record if isinstance(record, dict) else {}
