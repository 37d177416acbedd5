"""Which project a folder belongs to, read from ``.git/config`` as data: git is never run.

A repository that somebody else made must not start programs here, as git's own settings can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

MAX_CONFIG_BYTES = 1 << 20
MAX_NAME_CHARS = 300
"""Longer than any address that a person gave a repository."""

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
    """The name of the repository that ``folder`` is in; None if it is in none.

    ``github.com/OWNER/NAME`` if it has a remote on some host (``origin`` before others), which
    stays the same for every clone; else the path of its root.
    """
    root = root_of(folder)
    if root is None:
        return None
    for url in _remotes(root):
        if name := name_of_remote(url):
            return name
    return _printable(str(root))


def root_of(folder: Path) -> Path | None:
    """The root of the working tree around a folder."""
    here = folder.resolve()
    return next((place for place in (here, *here.parents) if (place / ".git").exists()), None)


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


def _remotes(root: Path) -> list[str]:
    """The addresses of the remotes, ``origin`` first."""
    config = _config(root)
    if config is None:
        return []
    remotes = list(_urls(config))
    return [url for name, url in remotes if name == "origin"] + [url for _, url in remotes]


def _urls(config: str) -> Iterator[tuple[str, str]]:
    remote = None
    for line in config.splitlines():
        if section := _SECTION.match(line):
            remote = section[2] if section[1].lower() == "remote" else None
            line = line[section.end() :]  # a setting may stand on the line of its section
        if remote and (url := _URL.fullmatch(line)):
            yield remote, url[1].strip().strip('"')


def _config(root: Path) -> str | None:
    """The text of a repository's settings; None if they cannot be read."""
    place = root / ".git"
    if place.is_file():  # a worktree or a submodule: the file names the folder
        pointer = _read(place) or ""
        place = root / pointer.removeprefix("gitdir:").strip()
        common = (_read(place / "commondir") or "").strip()
        place = place / common if common else place
    return _read(place / "config")


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
