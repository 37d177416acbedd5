from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from treering.cli.main import app
from treering.memory import Memory

pytestmark = pytest.mark.usefixtures("bundled_model")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("cli") / "memory.db"
    with Memory.open(file) as memory:
        for text in ("Ana sails her boat.", "Ana sails a small boat.", "Ben bakes [red]bread."):
            memory.add(text, source=text.split()[0].lower())
        memory.tree.settle()
    return file


def run(path: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["tree", "--memory", str(path), *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_tree_prints_branches_and_a_legend(path: Path) -> None:
    shown = run(path)
    assert "[2] Ana sails her boat." in shown
    assert "├── Ana sails her boat." in shown
    assert "└── Ana sails a small boat." in shown
    assert "\nBen bakes [red]bread." in shown
    assert "[N]: summary of N texts" in shown
    last = json.loads(run(path, "--json").splitlines()[-1])
    assert "[3]" not in run(path, "--root", str(last["number"]))


def test_a_branch_can_be_shown_alone(path: Path) -> None:
    topic, *_ = map(json.loads, run(path, "--json").splitlines())
    assert "Ben" not in run(path, "--root", str(topic["number"]))


def test_stats_prints_figures(path: Path) -> None:
    shown = run(path, "--stats")
    assert "4 nodes, 2 topics" in shown


def test_plain_search_finds_summaries_and_says_how_deep_a_hit_stands(path: Path) -> None:
    call = ["search", "boat", "-k", "3", "--level", "all", "--explain", "-m", str(path)]
    shown = CliRunner().invoke(app, call, catch_exceptions=False).output
    assert re.search(r"summary of 2 texts  node \d+, over \S+ and 1 other  ", shown)
    assert "level 1 of the tree" in shown


def test_a_tree_that_grows_as_it_settles_says_how_to_begin(tmp_path: Path) -> None:
    file = tmp_path / "online.db"
    with Memory.open(file) as memory:
        memory.configure("memtree")
        memory.add("Ana sails her boat.", source="ana")
    assert "the tree is empty: `treering settle` places 1 text\n" in run(file)
    with Memory.open(file) as memory:
        memory.settle()
    assert "Ana sails her boat." in run(file)
