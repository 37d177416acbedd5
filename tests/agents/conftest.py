"""A home folder made for the test, with nobody's settings in it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from tests import programs
from tests.cli.conftest import PLUGINS, ROOT
from treering.agents import endpoint
from treering.agents.clients import Launcher
from treering.agents.server import serve, stop
from treering.cli.main import app
from treering.hooks.places import user_memory

Hook = Callable[..., dict[str, Any]]
WAIT_S = 60.0

MOVED = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home folder, which is the working folder."""
    for name in list(os.environ):
        if name.startswith(("TREERING_", "OPENAI_")) or name in MOVED:
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    (home / ".local" / "share").mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def launcher(home: Path) -> Launcher:
    return Launcher(("/opt/treering/bin/treering",), str(home / "memory.db"))


@pytest.fixture
def memory_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own memory, which need not be there yet; the embedder needs no weights."""
    monkeypatch.setenv("TREERING_EMBEDDER", "hashing")
    monkeypatch.setenv("TREERING_HOOK_IDLE", "20")
    monkeypatch.syspath_prepend(PLUGINS)
    return user_memory()


@pytest.fixture
def embedder() -> str:
    """The embedding model of ``server``."""
    return "hashing"


@pytest.fixture
def server(memory_path: Path, embedder: str) -> Iterator[Path]:
    """A warm server of the user's own memory."""
    thread = Thread(target=serve, args=(str(memory_path),), kwargs={"embedder": embedder})
    thread.start()
    wait_until(endpoint.endpoint_for(str(memory_path)).path.exists)
    yield memory_path
    stop(str(memory_path))
    thread.join(WAIT_S)
    assert not thread.is_alive()


@pytest.fixture
def hook(memory_path: Path) -> Iterator[Hook]:
    """Runs a hook as a client does; gives its answer. A server that it starts is ended."""

    def run(event: str, payload: Any = None, *options: str, **environment: str) -> dict[str, Any]:
        content = payload if isinstance(payload, bytes) else json.dumps(payload or {}).encode()
        path = os.pathsep.join((str(ROOT), str(PLUGINS)))
        done = programs.run(
            [sys.executable, "-m", "treering", "hook", event, *options],
            content=content,
            capture_output=True,
            timeout=WAIT_S,
            env=os.environ | {"PYTHONPATH": path} | environment,
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    yield run
    stop(str(memory_path))


def put_in(answer: dict[str, Any]) -> str:
    """The text that a hook gave the model."""
    text: str = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
    return text


def wait_until(condition: Callable[[], Any]) -> None:
    """Wait for something that another thread or process does, within a bound."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def repository(folder: Path, remote: str) -> Path:
    """A folder that git's settings say is a clone of a remote."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n')
    return folder


@pytest.fixture
def treering_command(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command in a folder; gives what it prints."""

    def run(folder: Path, *arguments: str) -> str:
        monkeypatch.chdir(folder)
        result = CliRunner().invoke(app, list(arguments))
        assert result.exit_code == 0, result.output
        return result.output

    return run
