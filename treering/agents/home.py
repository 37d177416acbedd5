"""Which memory and which space a command or a hook uses.

Imported by every hook, so it imports nothing heavy.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from treering.agents.project import project_of, repository_of
from treering.hooks.places import user_memory

HERE = "treering.db"
"""A memory of a working folder, where it can be seen, copied and deleted like any other file."""
DEFAULT_SPACE = "default"


def working_folder() -> Path:
    """The folder that a command works in; where it was removed meanwhile, the user's home."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path.home()


def command_memory(folder: Path) -> str:
    """The memory of a command that names none: one that is here, else the user's own."""
    return HERE if (folder / HERE).is_file() else str(user_memory())


def agent_memory(named: str | None) -> str:
    """The memory of a hook: the one named, by an option or $TREERING_MEMORY, else the user's own.

    Never one that is here: a repository that somebody cloned would bring what an agent is shown,
    and take what its user says into its next commit.
    """
    chosen = named or os.environ.get("TREERING_MEMORY")
    if not chosen:
        return str(user_memory())
    return chosen if "://" in chosen else str(Path(chosen).expanduser().absolute())


class SpaceChoice(NamedTuple):
    """A space and the reason why it was chosen."""

    name: str
    reason: str


def agent_space(named: str | None, folder: Path) -> SpaceChoice:
    """Choose the space of an agent that works in ``folder``, by hooks, MCP or past sessions.

    Which file the memory is in plays no part: projects that share a file stay apart.
    """
    from_environment = _composed(os.environ.get("TREERING_SPACE", ""))
    if named and _composed(named) != from_environment:
        return SpaceChoice(_composed(named), "chosen by --space")
    if from_environment:
        return SpaceChoice(from_environment, "chosen by TREERING_SPACE")
    project = project_of(folder)
    if project is None:
        return SpaceChoice(DEFAULT_SPACE, "this folder belongs to no project")
    if repository_of(folder):
        return SpaceChoice(_composed(project), "the git repository of this folder")
    return SpaceChoice(_composed(project), "this folder, which is in no git repository")


def command_space(memory: str, folder: Path) -> str:
    """Return the space of a command that names none.

    A memory other than the user's own was made for one thing: its space is ``default``, as in
    Python.
    """
    return agent_space(None, folder).name if is_own(memory) else DEFAULT_SPACE


def is_own(memory: str) -> bool:
    """Whether a memory is the user's own."""
    return "://" not in memory and Path(memory).absolute() == user_memory().absolute()


def _composed(name: str) -> str:
    """As ``treering.text.composed``, whose module a hook need not wait for."""
    return normalize("NFC", name)
