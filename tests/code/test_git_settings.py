"""A repository's own settings start no program and no connection while it is looked at."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.code.test_guard import GUARDED, PLAIN
from tests.code.working import commit, git, repository, write
from treering import Memory
from treering.errors import UnknownName

pytestmark = pytest.mark.usefixtures("bundled_model")


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """What a program named by a repository would write."""
    return tmp_path / "started"


def program(started: Path, name: str) -> str:
    """A program that leaves a trace and passes its input on."""
    script = started.parent / f"{name}.sh"
    script.write_text(f"#!/bin/sh\necho {name} >> '{started}'\ncat\n")
    script.chmod(0o755)
    return str(script)


def look(root: Path, database: Path) -> None:
    """Everything that reads a working tree through git."""
    with Memory.open(database) as memory:
        memory.code.record("Refuse negative numbers.", root=root)
        memory.code.check(root=root)
        memory.code.check(root=root, staged=True)
        memory.code.index(root)
        assert memory.code.search("half")


@pytest.mark.parametrize("setting", ["clean", "process"])
@pytest.mark.parametrize("driver", ["x", "x.Y=z"])
def test_a_filter_of_the_repository_is_not_run(
    tmp_path: Path, started: Path, setting: str, driver: str
) -> None:
    root = repository(tmp_path / "project", m=PLAIN)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text(f"*.py filter={driver}\n")
    git(root, "config", f"filter.{driver}.{setting}", program(started, setting))
    git(root, "config", f"filter.{driver}.required", "true")
    for name, text in (("other", GUARDED), ("same", PLAIN.replace("total", "tally"))):  # in length
        write(root, m=text)
        look(root, tmp_path / f"{name}.db")
    assert not started.exists()


def test_a_filter_named_by_a_file_that_the_settings_include_is_not_run(
    tmp_path: Path, started: Path
) -> None:
    root = repository(tmp_path / "project", m=PLAIN)
    (root / ".gitattributes").write_text("*.py filter=x\n")
    (root / ".git" / "more").write_text(f'[filter "x"]\n\tclean = {program(started, "clean")}\n')
    git(root, "config", "include.path", "more")
    write(root, m=GUARDED)
    look(root, tmp_path / "memory.db")
    assert not started.exists()


def test_a_filter_of_a_submodule_is_not_run(tmp_path: Path, started: Path) -> None:
    root = repository(tmp_path / "project", m=PLAIN)
    inner = repository(root / "inner", n=PLAIN)
    commit(root, "Take in a submodule")
    (inner / ".git" / "info").mkdir(exist_ok=True)
    (inner / ".git" / "info" / "attributes").write_text("*.py filter=x\n")
    git(inner, "config", "filter.x.clean", program(started, "clean"))
    write(inner, n=PLAIN[::-1])  # as long as before, so that git has to compare
    os.utime(inner / "n.py", (0, 0))
    write(root, m=GUARDED)
    look(root, tmp_path / "memory.db")
    assert not started.exists()


def test_missing_objects_of_a_partial_clone_are_not_fetched(tmp_path: Path, started: Path) -> None:
    origin = repository(tmp_path / "origin", m=PLAIN)
    commit(origin, "Refuse negative numbers", m=GUARDED)
    git(origin, "config", "uploadpack.allowFilter", "true")
    root = tmp_path / "project"
    git(
        tmp_path,
        "clone",
        "--quiet",
        "--no-checkout",
        "--filter=blob:none",
        f"file://{origin}",
        str(root),
    )
    git(root, "config", "remote.origin.uploadpack", program(started, "uploadpack"))
    write(root, m=PLAIN)
    # Which of both it is depends on git's version: the missing texts are left out, or it says so.
    with Memory.open(tmp_path / "memory.db") as memory, suppress(UnknownName):
        memory.code.check(root=root)
    assert not started.exists()


def test_a_working_tree_elsewhere_that_the_settings_name_is_not_read(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere, m="SECRET = 1\n")
    root = repository(tmp_path / "project", m=PLAIN)
    for folder in (elsewhere, tmp_path):
        git(root, "config", "core.worktree", str(folder))
        with (
            Memory.open(tmp_path / "memory.db") as memory,
            pytest.raises(UnknownName, match=r"core\.worktree"),
        ):
            memory.code.check(root=root)


def test_a_filter_of_the_user_is_run(
    tmp_path: Path, started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "project", m=PLAIN)
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[filter "mine"]\n\tclean = {program(started, "mine")}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    (root / ".gitattributes").write_text("*.py filter=mine\n")
    write(root, m=GUARDED)
    look(root, tmp_path / "memory.db")
    assert "mine" in started.read_text()
