"""``treering code`` at a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests import programs
from tests.cli.conftest import ROOT
from tests.code.repositories import SHOP, write_files
from tests.code.working import commit, repository, write
from treering.cli.main import app

HALF = "def half(n):\n    return n / 2\n"
REFUSING = "def half(n):\n    if n < 0:\n        raise ValueError(n)\n    return n / 2\n"
ASKED = "Refuse negative numbers."


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREERING_MEMORY", str(tmp_path / "memory.db"))
    return write_files(tmp_path / "repo", SHOP)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["code", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_check_needs_no_space_of_its_own(root: Path, tmp_path: Path) -> None:
    made = repository(tmp_path / "made", m=HALF)
    commit(made, ASKED, m=REFUSING)
    without = ["code", "log", "half", "--root", str(made), "--no-git"]
    assert CliRunner().invoke(app, without).exit_code == 2, "without a memory there are no rounds"
    added = CliRunner().invoke(app, ["add", "Hello.", "--space", "ana"])
    assert added.exit_code == 0, added.output
    assert run("check", "--root", str(made)) == ""
    assert ASKED in run("log", "m.py::half", "--root", str(made))


def test_log_reads_the_only_indexed_repository_and_suggests_few_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREERING_MEMORY", str(tmp_path / "memory.db"))
    many = "".join(f"def other_{number}():\n    return {number}\n" for number in range(200))
    made = repository(tmp_path / "made", m=HALF + many)
    run("index", str(made))
    monkeypatch.chdir(repository(tmp_path / "elsewhere", other=many))
    assert "m.py::half" in run("log", "half")
    unknown = CliRunner().invoke(app, ["code", "log", "halve"])
    assert "near it: m.py::half" in " ".join(unknown.stderr.split())


def test_index_search_and_map_from_the_command_line(root: Path) -> None:
    assert run("index", str(root)).startswith(f"{len(SHOP)} files added")
    assert run("index", str(root)).startswith("0 files added, 0 changed, 0 removed")
    figures = CliRunner().invoke(app, ["stats"]).stdout
    assert f"{len(SHOP)} files of repositories" in figures
    found = run("search", "add the tax", "-k", "1", "--explain")
    assert found.startswith("shop/prices.py:")
    assert "lexical" in found
    assert "class Cart" in run("map", "--budget", "500")
    small = CliRunner().invoke(app, ["code", "map", "--budget", "1"])
    assert (small.stdout, "fits into 1 token\n" in small.stderr) == ("", True)


def test_searching_before_indexing_says_what_to_do(root: Path) -> None:
    run("index", str(root))
    result = CliRunner().invoke(app, ["code", "search", "x", "--root", str(root / "nowhere")])
    assert result.exit_code == 2
    assert "treering code index FOLDER" in result.stderr
    assert f"indexed are: {root};" in result.stderr
    assert "Path(" not in result.stderr


def test_indexing_passes_over_the_files_of_the_memory_itself(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREERING_MEMORY", str(root / "treering.db"))
    (root / "other.db").write_bytes(b"a\0b")
    result = CliRunner().invoke(app, ["code", "index", str(root)])
    assert result.stdout.startswith(f"{len(SHOP)} files added")
    assert result.stderr == "skipped other.db: not text\n"


def test_of_several_repositories_that_of_the_current_folder_is_meant(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = root / "vendored"
    for folder, text in ((inner, "def inner_half(): ...\n"), (tmp_path / "more", HALF)):
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "m.py").write_text(text)
        run("index", str(folder))
    run("index", str(root))
    for folder, definition in ((tmp_path / "more" / "deep", "half"), (inner, "inner_half")):
        monkeypatch.chdir(folder)
        assert definition in run("search", "half", "-k", "1")
        assert definition in run("map")
    monkeypatch.chdir(tmp_path)
    lost = CliRunner().invoke(app, ["code", "search", "half"])
    assert lost.exit_code == 2
    assert "name it with --root" in lost.stderr
    assert "`treering code forget --root FOLDER`" in lost.stderr
    assert str(inner) in lost.stderr
    assert "half" in run("search", "half", "--root", str(tmp_path / "more"))


@pytest.mark.parametrize("arguments", [["index", "."], ["record", ASKED], ["check"]])
def test_without_the_extra_a_command_names_what_installs_it(
    tmp_path: Path, arguments: list[str]
) -> None:
    root = repository(tmp_path / "repo", half=HALF)
    write(root, half=REFUSING)
    program = (
        "import sys; sys.modules['tree_sitter'] = None\n"
        f"from treering.cli.main import app; app({['code', *arguments]!r})"
    )
    done = programs.run(
        [sys.executable, "-c", program],
        cwd=root,
        env={**os.environ, "TREERING_MEMORY": str(tmp_path / "memory.db"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "is not installed; run: pip install 'treering[code]'" in done.stderr
    assert "Traceback" not in done.stderr
