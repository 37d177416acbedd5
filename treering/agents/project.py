"""The project of a folder, and with it the memory and space that a command or a hook uses.

The project is read from ``.git/config`` as data: git is never run, because its settings can start
programs. Hooks can be switched off in a project. Imported by every hook, so this imports nothing
heavy.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from treering.hooks.places import agents_home, make_private, user_memory

HERE = "treering.db"
"""A memory of a working folder, where it can be seen, copied and deleted like any other file."""
DEFAULT_SPACE = "default"

MAX_CONFIG_BYTES = 1 << 20
MAX_NAME_CHARS = 300
"""Longer than any address that a person gave a repository."""
DIGEST_DIGITS = 8
"""Few enough to read; two folders of one name share them once in four billion."""

# White space is possessive: a stranger's file may have much of it.
_SECTION = re.compile(r'\s*+\[\s*+([\w.-]++)\s*+(?:"((?:[^"\\]|\\.)*+)")?+\s*+\]')
_URL = re.compile(r"\s*+url\s*+=(.*)", re.IGNORECASE)
_SCP = re.compile(r"(?:[^@/\s]+@)?([\w.-]+):(?!//)/?(.+)")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
"""``C:\\repositories`` is a path, not a host called C."""
_WITH_SCHEME = re.compile(
    r"(?:https?|ssh|git|git\+ssh)://(?:[^@/\s]*@)?(\[[^\]]+\]|[^/:\s]+)(?::\d+)?/+(.+)",
    re.IGNORECASE,
)


def project_of(folder: Path) -> str | None:
    """Return the name of the repository around ``folder``, else one of the folder itself.

    ``github.com/OWNER/NAME`` if it has a remote on a host (``origin`` before others): each clone
    has the same. Else the folder that its working trees share (git's common folder).

    None for the user's home and the root outside git: work there belongs to no project.
    """
    repository = repository_of(folder)
    if repository is None:
        return _folder_name(folder.resolve())
    for url in _remotes(repository):
        if name := remote_name(url):
            return name
    return _printable(str(_root(repository)))


def _root(repository: Path) -> Path:
    return repository.parent if repository.name == ".git" else repository


def _folder_name(folder: Path) -> str | None:
    if folder.parent == folder or folder == Path.home().resolve():
        return None
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()  # other folders have the same name
    return _printable(f"{folder.name}-{digest[:DIGEST_DIGITS]}")


def repository_of(folder: Path) -> Path | None:
    """Return the folder that ``git rev-parse --git-common-dir`` names."""
    here = folder.resolve()
    places = (place / ".git" for place in (here, *here.parents))
    git = next((place for place in places if place.exists()), None)
    if git is None or git.is_dir():
        return git
    # In a worktree or a submodule, a file names a folder, and that names the common one.
    _, named, own = (_read(git) or "").partition("gitdir:")
    place = git.parent / own.strip()
    try:
        return (place / (_read(place / "commondir") or "").strip()).resolve() if named else git
    except (OSError, ValueError):  # no path that this system could have
        return git


def remote_name(url: str) -> str | None:
    """``HOST/PATH`` of a remote's address, without user, password, port and ``.git``.

    None for a path on this machine, which another clone does not share.
    """
    if "://" in url:
        match = _WITH_SCHEME.fullmatch(url)
    else:
        match = None if _DRIVE.match(url) else _SCP.fullmatch(url)
    if match is None:
        return None
    path = match[2].partition("?")[0].strip("/").removesuffix(".git").rstrip("/")
    return _printable(f"{match[1].lower()}/{path}") if path else None


def _remotes(repository: Path) -> list[str]:
    """Return the addresses of the remotes, ``origin`` first."""
    remotes = list(_urls(_read(repository / "config") or ""))
    return [url for name, url in remotes if name == "origin"] + [url for _, url in remotes]


def _urls(config: str) -> Iterator[tuple[str, str]]:
    remote = None
    for line in config.splitlines():
        if section := _SECTION.match(line):
            remote = section[2] if section[1].lower() == "remote" else None
            line = line[section.end() :]  # a setting may be on the line of its section
        if remote and (url := _URL.fullmatch(line)):
            yield remote, url[1].strip().strip('"')


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_CONFIG_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        return None


def _printable(name: str) -> str:
    """A name that a space may have."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    return shown[-MAX_NAME_CHARS:]


# ---------------------------------------------------------------------- switching hooks off


def are_hooks_off(folder: Path) -> bool:
    """Return whether hooks are off in the project of a folder."""
    return len(switch_times(folder)) % 2 == 1


def switch_times(folder: Path) -> list[float]:
    """Return when hooks went off, on, off, … in the project of a folder, in seconds.

    Raise InputError if the file of these times is damaged: then no hook does anything.
    """
    path = _switch_file(folder)
    try:
        return [float(moment) for moment in path.read_bytes().split()]
    except FileNotFoundError:
        return []
    except ValueError as error:
        from treering.errors import InputError  # here, as hooks do not need it

        raise InputError(f"{path} is damaged; remove it, which switches hooks on") from error


def switch_hooks(folder: Path, on: bool) -> None:
    """Switch hooks on or off in the project of a folder."""
    from treering.files import replace_file

    times = switch_times(folder)
    if on == are_hooks_off(folder):
        path = _switch_file(folder)
        make_private(path.parent)
        replace_file(path, " ".join(map(str, [*times, time.time()])).encode(), private=True)


def _switch_file(folder: Path) -> Path:
    """Return the file of a project, which does not name it: its space may be removed."""
    project = project_of(folder) or ""
    return agents_home() / "off" / hashlib.sha256(project.encode()).hexdigest()


# ---------------------------------------------------------------------- memory and space


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
    """A space and the reason why it was chosen.

    ``former`` are the spaces of the folder without a remote, and without a repository.
    """

    name: str
    reason: str
    former: tuple[str, ...] = ()

    def moving_hint(self, memory: str, spaces: Collection[str]) -> str | None:
        """Say how to take over a former space, if this one is not among the spaces of a memory."""
        old = next((name for name in self.former if name in spaces), None)
        if old is None or self.name in spaces:
            return None
        from shlex import quote  # here, as hooks do not need it

        here, there = (f"-m {quote(memory)} --space {quote(name)}" for name in (old, self.name))
        return (
            f"the space {self.name!r} is empty, but {old!r} was the space of this folder before; "
            f"to copy its entries: treering export {here} | treering import {there}"
        )


def agent_space(named: str | None, folder: Path) -> SpaceChoice:
    """Choose the space of an agent that works in ``folder``, by hooks, MCP or past sessions.

    Which file the memory is in plays no part: projects that share a file stay apart.
    """
    from_environment = _compose(os.environ.get("TREERING_SPACE", ""))
    if named and _compose(named) != from_environment:
        return SpaceChoice(_compose(named), "chosen by --space")
    if from_environment:
        return SpaceChoice(from_environment, "chosen by TREERING_SPACE")
    project = project_of(folder)
    if project is None:
        return SpaceChoice(DEFAULT_SPACE, "this folder belongs to no project")
    if repository := repository_of(folder):
        root = _root(repository)
        names = filter(None, (_printable(str(root)), _folder_name(root)))
        former = tuple(map(_compose, names))
        return SpaceChoice(_compose(project), "the git repository of this folder", former)
    return SpaceChoice(_compose(project), "this folder, which is in no git repository")


def command_space(memory: str, folder: Path) -> str:
    """Return the space of a command that names none.

    A memory other than the user's own was made for one thing: its space is ``default``, as in
    Python.
    """
    return agent_space(None, folder).name if is_own(memory) else DEFAULT_SPACE


def is_own(memory: str) -> bool:
    """Whether a memory is the user's own."""
    return "://" not in memory and Path(memory).absolute() == user_memory().absolute()


def _compose(name: str) -> str:
    """As ``treering.text.composed``, whose module a hook need not wait for."""
    return normalize("NFC", name)
