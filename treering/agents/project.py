"""Which project a folder belongs to, read from ``.git/config`` as data: git is never run.

git's own settings can start programs, and a repository of a stranger must not.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

MAX_CONFIG_BYTES = 1 << 20
MAX_NAME_CHARS = 300
"""Longer than any address that a person gave a repository."""
DIGEST_DIGITS = 8
"""Few enough to read; two folders of one name share them once in four billion."""

# White space is not taken back: somebody else may have written much of it.
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
        return _name_of_folder(folder.resolve())
    for url in _remotes(repository):
        if name := name_of_remote(url):
            return name
    return _printable(str(repository.parent if repository.name == ".git" else repository))


def _name_of_folder(folder: Path) -> str | None:
    if folder.parent == folder or folder == Path.home().resolve():
        return None
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()  # other folders have the same name
    return _printable(f"{folder.name}-{digest[:DIGEST_DIGITS]}")


def repository_of(folder: Path) -> Path | None:
    """Return the folder that ``git rev-parse --git-common-dir`` names."""
    here = folder.resolve()
    places = (place / ".git" for place in (here, *here.parents))
    found = next((place for place in places if place.exists()), None)
    if found is None or found.is_dir():
        return found
    # In a worktree or a submodule, a file names a folder, and that names the common one.
    _, named, own = (_read(found) or "").partition("gitdir:")
    place = found.parent / own.strip()
    try:
        return (place / (_read(place / "commondir") or "").strip()).resolve() if named else found
    except (OSError, ValueError):  # no path that this system could have
        return found


def name_of_remote(url: str) -> str | None:
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
            line = line[section.end() :]  # a setting may stand on the line of its section
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
