"""Timing hooks starts them as a client does, and leaves no server behind."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from treering_bench.cli import app

HOOKS = ["hooks", "--prompts", "1", "--colds", "1", "--json"]


def test_cold_and_warm_hooks_of_a_made_up_memory_are_timed() -> None:
    done = CliRunner().invoke(app, [*HOOKS, "--fragments", "20"])
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    for state in ("cold", "warm"):
        assert figures[state]["runs"] == 1
        assert 0 < figures[state]["p50_ms"] <= figures[state]["max_ms"]


def test_a_memory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    assert CliRunner().invoke(app, [*HOOKS, "--memory", str(path)]).exit_code == 2
    assert not path.exists()
