"""Git repositories made for a test."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        ["git", *_WHO, *arguments], cwd=root, check=True, capture_output=True, text=True, env=env
    )
    return done.stdout


def repository(root: Path, **files: str) -> Path:
    """A repository with one commit of ``files``, Python modules by name; it is some years old."""
    root.mkdir()
    git(root, "init", "--quiet")
    write(root, **files)
    git(root, "add", "--all")
    dated = {"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z", **os.environ}
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Begin", env=dated)
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
