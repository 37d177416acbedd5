"""The command line in this process and in another one, with models that need no weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.programs import Program
from treering.cli.main import app

PLUGINS = Path(__file__).parent / "plugins"
ROOT = Path(__file__).parents[2]

Treering = Callable[..., Result]
Process = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment with a memory of its own and no language model."""
    for name in list(os.environ):
        if name.startswith(("TREERING_", "OPENAI_")):
            monkeypatch.delenv(name)
    chosen = {"TREERING_MEMORY": str(tmp_path / "life.db"), "TREERING_EMBEDDER": "hashing"}
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(PLUGINS)
    return chosen


@pytest.fixture
def treering(settings: dict[str, str]) -> Treering:
    """Runs a command in this process."""

    def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, list(map(str, arguments)), input=stdin)

    return run


@pytest.fixture
def process(settings: dict[str, str]) -> Process:
    """Starts a command in a process of its own, with pipes."""

    def start(*arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
        path = os.pathsep.join((str(ROOT), str(PLUGINS)))
        return Program(
            [sys.executable, "-m", "treering", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | settings | {"PYTHONPATH": path},
            **({"text": True} | options),
        )

    return start


def records(result: Result) -> list[dict[str, Any]]:
    """The lines of JSON on stdout."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def record(result: Result) -> dict[str, Any]:
    """The one line of JSON on stdout."""
    [found] = records(result)
    return found
