"""Git repositories made for a test."""

from __future__ import annotations

import subprocess
from pathlib import Path

_WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *_WHO, *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout


def repository(root: Path, **files: str) -> Path:
    """A repository with one commit of ``files``, Python modules by name."""
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, "Begin", **files)
    return root


def commit(root: Path, message: str, **files: str) -> str:
    """Write files and commit everything; the commit's name."""
    write(root, **files)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(root, "rev-parse", "HEAD").strip()


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)
