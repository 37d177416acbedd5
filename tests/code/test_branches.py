"""Which rounds a branch has, and rounds that are recorded while others write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.code.test_guard import GUARDED, PLAIN
from tests.code.working import commit, git, repository, write
from treering import Memory
from treering.views.code.rounds.git import Git

ZERO = GUARDED.replace("n < 0", "n <= 0")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = repository(tmp_path / "repository", m=PLAIN)
    git(made, "branch", "--move", "main")
    return made


def story(memory: Memory) -> list[str]:
    (sequence,) = memory.code.rounds().values()
    return [record.block.instruction for record in sequence]


def test_a_branch_that_begins_with_uncommitted_files_has_their_rounds(
    memory: Memory, root: Path
) -> None:
    write(root, m=GUARDED)
    memory.code.record("Refuse negative numbers.", root=root)
    git(root, "switch", "--quiet", "--create", "side")
    write(root, m=ZERO)
    (block,) = memory.code.record("Refuse zero.", root=root)
    assert "return total" not in memory.get(block.id).text  # it began with the round on main
    assert [told.instruction for told in memory.code.log("half", root=root)] == [
        "Begin",
        "Refuse negative numbers.",
        "Refuse zero.",
    ]
    assert block.branch == "side"


def test_a_branch_lacks_the_rounds_that_another_one_records_later(
    memory: Memory, root: Path
) -> None:
    git(root, "branch", "side")
    write(root, m=GUARDED)
    memory.code.record("Refuse negative numbers.", root=root)
    commit(root, "Work")
    git(root, "switch", "--quiet", "side")
    assert [told.instruction for told in memory.code.log("half", root=root)] == ["Begin"]
    git(root, "merge", "--quiet", "main")
    assert "Refuse negative numbers." in {b.instruction for b in memory.code.log("half", root=root)}


def test_a_round_is_recorded_while_others_write(
    memory: Memory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, m=GUARDED)
    memory.code.record("Refuse negative numbers.", root=root)
    commit(root, "Work")
    git(root, "switch", "--quiet", "--create", "side")
    read, calls = Git.texts, list[str]()

    def texts(self: Git, revision: str, paths: Sequence[str]) -> dict[str, str]:
        calls.append(revision)
        with Memory.open(memory._database.url, embedder=memory._views.embedder) as other:
            other.add(f"Meanwhile, {len(calls)}.", source="notes")
            if len(calls) == 1:
                other.code.record("Elsewhere.", before={}, after={"n.py": PLAIN})
        return read(self, revision, paths)

    monkeypatch.setattr(Git, "texts", texts)
    write(root, m=ZERO)
    (block,) = memory.code.record("Refuse zero.", root=root)
    monkeypatch.undo()
    assert block.instruction == "Refuse zero."
    assert memory.stats().entries >= len(calls) + 3


def test_an_edit_that_git_does_not_show_is_searched(memory: Memory, tmp_path: Path) -> None:
    library = repository(tmp_path / "library", stone=PLAIN)
    root = repository(tmp_path / "app", m=PLAIN)
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library))
    (root / ".git" / "info" / "exclude").write_text("private.py\n")
    write(root, private=PLAIN)
    memory.code.index(root)
    assert {hit.path for hit in memory.code.search("half of n")} >= {"library/stone.py"}
    for file in (root / "library" / "stone.py", root / "private.py"):
        file.write_text("def weigh(stone):\n    return stone.mass\n")
        found = memory.code.search("weigh a stone", k=1)
        assert [hit.definition for hit in found] == ["weigh"]
        file.write_text(PLAIN)
