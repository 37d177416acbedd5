"""Working trees that cannot be read as a whole, and two processes that index one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from treering import Memory
from treering.errors import InputError, JournalBusy

DEEP = 1_100


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "inner").mkdir(parents=True)
    (root / "a.py").write_text("def spin():\n    return 1\n")
    (root / "inner" / "b.py").write_text("def turn():\n    return 2\n")
    return root


@pytest.fixture
def refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the system does not list, whoever runs the tests: root may read everything."""

    def refuse(lists: Callable[[Path], Any]) -> Callable[[Path], Any]:
        def listed(path: Path) -> Any:
            if str(path) == str(tree / "inner"):
                raise PermissionError(13, "Permission denied", str(path))
            return lists(path)

        return listed

    monkeypatch.setattr(Path, "iterdir", refuse(Path.iterdir))
    monkeypatch.setattr(os, "scandir", refuse(os.scandir))
    return tree / "inner"


@pytest.fixture
def deep(tree: Path) -> Iterator[Path]:
    """A tree whose last folder lies deeper than functions may be nested."""
    here = os.open(tree, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    with os.fdopen(os.open("c.py", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:
        file.write("def deepest():\n    return 3\n")
    os.close(here)
    yield tree
    while (tree / "d").exists():  # tools that delete a tree may be recursive
        path = tree / Path(*["d"] * DEEP)
        (path / "c.py").unlink()
        while path != tree:
            path.rmdir()
            path = path.parent


def test_a_folder_that_cannot_be_read_is_told_and_the_rest_is_indexed(
    memory: Memory, tree: Path, refused: Path
) -> None:
    receipt = memory.code.index(tree)

    assert receipt.added == ("a.py",)
    [skipped] = receipt.skipped
    assert (skipped.path, "Permission denied" in skipped.reason) == (refused.name, True)
    [skipped] = memory.add(tree).skipped
    assert "Permission denied" in skipped.reason


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that are no UTF-8")
def test_a_file_whose_name_is_no_utf8_is_told_and_the_rest_is_indexed(
    memory: Memory, tree: Path
) -> None:
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff.py")).write_text("def lost():\n    return 1\n")
    receipt = memory.code.index(tree)
    assert receipt.added == ("a.py", "inner/b.py")
    assert [skipped.reason for skipped in receipt.skipped] == ["its name is not UTF-8"]


def test_what_cannot_be_read_any_more_stays_in_the_index(
    memory: Memory, tree: Path, request: pytest.FixtureRequest
) -> None:
    memory.code.index(tree)
    request.getfixturevalue("refused")

    assert memory.code.index(tree).removed == ()
    assert [hit.path for hit in memory.code.search("turn", k=1)] == ["inner/b.py"]


def test_folders_may_be_nested_deeper_than_functions(memory: Memory, deep: Path) -> None:
    assert len(memory.code.index(deep).added) == 3
    [skipped] = memory.add(deep).skipped
    assert "at most" in skipped.reason  # the name of a source, which would be its path
    assert memory.search("turn")


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 3_000])
def test_a_path_that_the_system_refuses_is_an_input_error(memory: Memory, name: str) -> None:
    for use in (memory.add, memory.code.index):
        with pytest.raises(InputError, match="give a file or folder"):
            use(Path(name))


def test_an_index_that_was_forgotten_meanwhile_is_not_stored_in_part(
    memory: Memory, tree: Path, open_memory: Open
) -> None:
    memory.code.index(tree)
    (tree / "a.py").write_text("def spin():\n    return 4\n")
    other = open_memory()

    def forget(_done: int, _total: int) -> None:
        if other.code.repositories():
            other.code.forget(tree)

    with pytest.raises(JournalBusy):
        memory.code.index(tree, progress=forget)
    assert len(memory.code.index(tree).added) == 2
