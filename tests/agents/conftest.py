"""A home folder made for the test, with nobody's settings in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from treering.agents.launch import Launcher

MOVED = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home folder; the working folder is one in it that is no project."""
    for name in list(os.environ):
        if name.startswith(("TREERING_", "OPENAI_")) or name in MOVED:
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    (home / ".local" / "share").mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.chdir(home / "work")
    return home


@pytest.fixture
def launcher(home: Path) -> Launcher:
    return Launcher(("/opt/treering/bin/treering",), str(home / "memory.db"))
