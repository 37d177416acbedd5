"""The user's own memory and what belongs to it, in the place that the platform has for data.

Imported by every hook, so it imports nothing heavy.
"""

from __future__ import annotations

from pathlib import Path

import platformdirs


def data_home() -> Path:
    """The folder of the user's own memory, such as ``~/.local/share/treering``."""
    return platformdirs.user_data_path("treering", appauthor=False)


def user_memory() -> Path:
    """The file of the user's own memory."""
    return data_home() / "memory.db"


def agents_home() -> Path:
    """The folder of what is kept about agents: settings changed, hooks' log, messages waiting."""
    return data_home() / "agents"


def make_private(folder: Path) -> Path:
    """Make a folder of ours, and the data home above it, which only their owner may enter."""
    for place in (data_home(), folder):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
