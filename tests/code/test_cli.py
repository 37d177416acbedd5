"""``treering code`` at a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.code.repositories import SHOP
from treering.cli.main import app


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in SHOP.items():
        path = tmp_path / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv("TREERING_MEMORY", str(tmp_path / "memory.db"))
    return tmp_path / "repo"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["code", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_index_search_and_map_from_the_command_line(root: Path) -> None:
    assert run("index", str(root)).startswith(f"{len(SHOP)} added")
    assert run("index", str(root)).startswith("0 added, 0 changed, 0 removed")
    found = run("search", "add the tax", "-k", "1", "--explain")
    assert found.startswith("shop/prices.py:")
    assert "lexical" in found
    assert "class Cart" in run("map", "--budget", "500", "--focus", "shop/cart.py")


def test_json_gives_one_object_a_hit(root: Path) -> None:
    run("index", str(root))
    lines = run("search", "tax", "-k", "2", "--json").splitlines()
    assert json.loads(lines[0])["path"] == "shop/prices.py"
    assert len(lines) == 2


def test_searching_before_indexing_says_what_to_do(root: Path) -> None:
    run("index", str(root))
    result = CliRunner().invoke(app, ["code", "search", "x", "--root", str(root / "nowhere")])
    assert result.exit_code == 2
    assert "index it first" in result.stderr
