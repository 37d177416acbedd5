"""An index is as fresh as the files: branches, worktrees, folders that git does not know."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest

from tests.code.working import commit, git, repository, write
from treering import Memory
from treering.journal.open import open_database

ONE = "def weigh(stone):\n    return stone.mass\n"
OTHER = "def measure(stone):\n    return stone.length\n"


def found(memory: Memory, query: str, root: Path | None = None) -> set[str]:
    return {hit.definition for hit in memory.code.search(query, root=root)}


def test_a_branch_that_is_checked_out_is_what_is_searched(memory: Memory, tmp_path: Path) -> None:
    root = repository(tmp_path / "one", m=ONE)
    memory.code.index(root)
    git(root, "switch", "--quiet", "--create", "side")
    commit(root, "Measure", m=OTHER)
    assert found(memory, "stone") == {"measure"}
    git(root, "switch", "--quiet", "-")
    assert found(memory, "stone") == {"weigh"}
    assert "weigh" in memory.code.map()
    for text, name in ((OTHER, "measure"), (ONE.replace("weigh", "heave"), "heave")):
        write(root, m=text)  # changed twice in the same way for git
        assert found(memory, "stone") == {name}
    write(root, n=OTHER)
    assert found(memory, "stone") == {"heave", "measure"}


def test_each_worktree_has_an_index_of_its_own(memory: Memory, tmp_path: Path) -> None:
    root, side = repository(tmp_path / "one", m=ONE), tmp_path / "side"
    git(root, "worktree", "add", "--quiet", "-b", "side", str(side))
    for tree in (root, side):
        memory.code.index(tree)
    write(side, m=OTHER)
    assert found(memory, "stone", root) == {"weigh"}
    assert found(memory, "stone", side) == {"measure"}


def test_a_folder_that_git_does_not_know_is_read_again(memory: Memory, tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    write(root, m=ONE)
    memory.code.index(root)
    write(root, m=OTHER)
    assert found(memory, "stone") == {"measure"}
    assert {hit.definition for hit in memory.code.about("measure").code} == {"measure"}


def test_a_folder_that_became_a_link_is_searched_by_its_first_path(
    memory: Memory, tmp_path: Path
) -> None:
    root = tmp_path / "app"
    root.mkdir()
    write(root, m=ONE)
    memory.code.index(root)
    root.rename(tmp_path / "app-v1")
    root.symlink_to("app-v1")
    assert found(memory, "stone") == found(memory, "stone", root) == {"weigh"}


def test_a_folder_that_is_gone_is_searched_as_it_was(
    memory: Memory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = repository(tmp_path / "one", m=ONE)
    memory.code.index(root)
    shutil.rmtree(root)
    with caplog.at_level(logging.WARNING, "treering"):
        assert found(memory, "stone") == {"weigh"}
    assert str(root) in caplog.text


def test_a_server_reads_only_below_the_folders_that_it_serves(
    memory: Memory, tmp_path: Path
) -> None:
    root = repository(tmp_path / "one", m=ONE)
    memory.code.index(root)
    write(root, m=OTHER)
    embedder = memory._views.embedder
    for roots, name in (((tmp_path / "other",), "weigh"), ((tmp_path,), "measure")):
        with Memory(open_database(memory._database.url), "default", embedder, None,
                    code_roots=roots) as served:  # fmt: skip
            assert found(served, "stone") == {name}
