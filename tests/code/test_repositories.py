"""Several repositories in one space: what was recorded in one says nothing of the others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.code.test_guard import GUARDED, PLAIN
from tests.code.working import commit, git, repository, write
from treering import Memory
from treering.cli.main import app
from treering.errors import UnknownName

OTHER = "def half(n):\n    return n // 2\n"


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return repository(tmp_path / "one", m=PLAIN)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return repository(tmp_path / "other", m=OTHER)


def stories(memory: Memory) -> dict[str, list[str]]:
    return {
        key: [one.block.instruction for one in sequence]
        for key, sequence in memory.code.rounds().items()
    }


def test_rounds_of_two_repositories_are_told_apart(memory: Memory, one: Path, other: Path) -> None:
    write(one, m=GUARDED)
    (block,) = memory.code.record("Refuse negative numbers.", root=one)
    write(other, m=OTHER + "\n\ndef third(n):\n    return n // 3\n")
    assert [made.key for made in memory.code.record("Thirds.", root=other)] == ["m.py::third"]
    write(other, m=OTHER.replace("// 2", "/ 2"))
    (changed,) = memory.code.record("Halves need not be whole.", root=other)
    assert [told.instruction for told in memory.code.log("half", root=one)] == [
        "Begin",
        block.instruction,
    ]
    assert [told.instruction for told in memory.code.log("half", root=other)] == [
        "Begin",
        changed.instruction,
    ]
    assert not memory.code.check(root=other)


def test_a_name_that_two_repositories_have_must_say_which(
    memory: Memory, one: Path, other: Path
) -> None:
    for root in (one, other):
        write(root, m=GUARDED)
        memory.code.record(f"Refuse negative numbers in {root.name}.", root=root)
    with pytest.raises(UnknownName, match="can be any of m") as refused:
        memory.code.note("half", "good")
    first = git(one, "rev-parse", "HEAD").strip()[:9]
    assert f"m.py::half in {first}" in str(refused.value)
    noted = memory.code.note(f"m.py::half in {first}", "good")
    assert (noted.note, noted.instruction) == ("good", "Refuse negative numbers in one.")
    assert len(memory.code.about("why does half() raise?").rounds) == 2
    memory.code.forget_rounds(f"m.py::half in {first}")
    (left,) = memory.code.rounds().values()
    assert left[-1].block.instruction == "Refuse negative numbers in other."


def test_a_repository_that_has_moved_keeps_its_rounds(memory: Memory, one: Path) -> None:
    write(one, m=GUARDED)
    (block,) = memory.code.record("Refuse negative numbers.", root=one)
    moved = one.with_name("moved")
    shutil.move(one, moved)
    assert block.id in {told.id for told in memory.code.log("half", root=moved)}


def test_a_repository_that_takes_in_an_older_history_keeps_its_rounds(
    memory: Memory, tmp_path: Path, one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(one, m=GUARDED)
    memory.code.record("Refuse negative numbers.", root=one)
    commit(one, "Work")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
    library = repository(tmp_path / "library", library=PLAIN)
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    git(one, "fetch", "--quiet", str(library))
    git(one, "merge", "--quiet", "--allow-unrelated-histories", "-m", "Take it in", "FETCH_HEAD")
    write(one, m=PLAIN)
    assert memory.code.check(root=one, depth=0).rounds == 1
    write(one, m=GUARDED.replace("n < 0", "n <= 0"))
    memory.code.record("Refuse zero.", root=one)
    assert stories(memory) == {"m.py::half": ["Refuse negative numbers.", "Refuse zero."]}


def test_a_check_says_that_a_shallow_clone_is_not_compared_with_rounds(
    tmp_path: Path, one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREERING_MEMORY", str(tmp_path / "memory.db"))
    shallow = tmp_path / "shallow"
    commit(one, "Work", m=GUARDED)
    git(one, "clone", "--quiet", "--depth", "1", one.as_uri(), str(shallow))
    for root, says in ((one, False), (shallow, True)):
        done = CliRunner().invoke(app, ["code", "check", "--root", str(root)])
        assert done.exit_code == 0, done.output
        assert ("shallow" in done.stderr) == says


def test_rounds_of_a_shallow_clone_are_kept_when_it_gets_its_history(
    memory: Memory, tmp_path: Path, one: Path
) -> None:
    shallow = tmp_path / "shallow"
    commit(one, "Work", other=OTHER)
    git(one, "clone", "--quiet", "--depth", "1", one.as_uri(), str(shallow))
    write(shallow, m=GUARDED)
    memory.code.record("Refuse negative numbers.", root=shallow)
    git(shallow, "fetch", "--quiet", "--unshallow")
    write(shallow, m=GUARDED.replace("n < 0", "n <= 0"))
    memory.code.record("Refuse zero.", root=shallow)
    told = [block.instruction for block in memory.code.log("m.py::half", root=shallow)]
    assert told == ["Begin", "Refuse negative numbers.", "Refuse zero."]


def test_rounds_from_before_the_first_commit_stay_with_their_repository(
    memory: Memory, tmp_path: Path
) -> None:
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "--quiet")
    write(root, m=PLAIN)
    memory.code.record("Begin with halves.", root=root)
    commit(root, "Begin")
    assert [told.instruction for told in memory.code.log("half", root=root)] == [
        "Begin with halves."
    ]
    write(root, m=GUARDED)
    memory.code.record("Refuse negative numbers.", root=root)
    told = [block.instruction for block in memory.code.log("half", root=root)]
    assert told == ["Begin with halves.", "Refuse negative numbers."]


def test_rounds_of_files_that_were_given_go_on_in_a_repository(memory: Memory, one: Path) -> None:
    memory.code.record("Begin with halves.", before={}, after={"m.py": PLAIN})
    write(one, m=GUARDED)
    (block,) = memory.code.record("Refuse negative numbers.", root=one)
    assert stories(memory) == {"m.py::half": ["Begin with halves.", "Refuse negative numbers."]}
    text = memory.get(block.id).text
    memory.code.note("half", "Good.")
    noted = memory.get(block.id).text
    assert noted.replace("Note: Good.\n", "") == text
    assert "return n / 2" not in noted
    memory.code.forget_rounds("half")
    assert memory.code.rounds() == {}


def test_rounds_of_files_that_were_given_are_part_of_the_story_in_every_repository(
    memory: Memory, one: Path, other: Path
) -> None:
    memory.code.record("Begin.", before={}, after={"m.py": PLAIN, "n.py": PLAIN})
    for root in (one, other):
        write(root, m=GUARDED)
        memory.code.record(f"Refuse in {root.name}.", root=root)
    assert sorted(stories(memory).values()) == [
        ["Begin."],
        ["Begin.", "Refuse in one."],
        ["Begin.", "Refuse in other."],
    ]
    assert len(memory.code.about("why does half() raise?").rounds) == 4


def test_a_folder_that_is_used_again_does_not_make_one_of_two_repositories(
    memory: Memory, one: Path, other: Path
) -> None:
    write(one, m=GUARDED)
    memory.code.record("Refuse negative numbers.", root=one)
    shutil.rmtree(one)
    other.rename(one)
    write(one, m=GUARDED)
    memory.code.record("Refuse them here too.", root=one)
    assert sorted(stories(memory).values()) == [
        ["Refuse negative numbers."],
        ["Refuse them here too."],
    ]
