"""``memory.code.check`` and ``log`` on git repositories, and both at a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.code.test_guard import GUARDED, PLAIN, RESHAPED
from tests.code.working import commit, git, repository, write
from tests.serve.live import serving
from treering import Memory
from treering.cli.failures import FOUND
from treering.cli.main import app
from treering.errors import InputError, UnknownName

pytestmark = pytest.mark.usefixtures("bundled_model")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repository", m=PLAIN)


def run(root: Path, *arguments: str) -> Result:
    where = ("--memory", str(root.parent / "memory.db"), "--root", str(root))
    return CliRunner().invoke(app, ["code", *arguments, *where])


def test_a_fix_of_an_earlier_commit_that_the_working_tree_undoes_is_told(
    memory: Memory, root: Path
) -> None:
    sha = commit(root, "Refuse negative numbers", m=GUARDED)
    assert not memory.code.check(root=root)
    write(root, m=PLAIN, new=PLAIN)
    steps: list[tuple[int, int]] = []
    report = memory.code.check(root=root, progress=lambda *step: steps.append(step))
    (one,) = report.undone
    assert (one.name, one.instruction, one.origin) == (sha, "Refuse negative numbers", "commit")
    assert steps == [(1, 1)]  # of the files whose history is read
    assert not memory.code.check(root=root, depth=0)


def test_line_ends_alone_are_no_finding_and_hide_none(memory: Memory, root: Path) -> None:
    fixed = PLAIN.replace("return total", 'return f"""{total}\n"""')
    (root / "m.py").write_bytes(PLAIN.replace("\n", "\r\n").encode())
    commit(root, "Windows")
    (root / "m.py").write_bytes(fixed.replace("\n", "\r\n").encode())
    sha = commit(root, "Fix")
    write(root, m=fixed)
    assert memory.code.check(root=root).undone == ()
    commit(root, "Unix")
    assert memory.code.check(root=root, commits="HEAD~1..HEAD").undone == ()
    write(root, m=PLAIN)
    assert [one.name for one in memory.code.check(root=root).undone] == [sha]


def test_a_recorded_round_is_guarded_before_it_is_committed(memory: Memory, root: Path) -> None:
    write(root, m=GUARDED)
    (block,) = memory.code.record("Raise a ValueError for negative numbers.", root=root)
    commit(root, "Work")
    write(root, m=PLAIN)
    assert block.id in {one.name for one in memory.code.check(root=root).undone}


def test_a_rejected_round_may_be_undone(memory: Memory, root: Path) -> None:
    write(root, m=GUARDED)
    memory.code.record("Raise a ValueError for negative numbers.", root=root, outcome="rejected")
    commit(root, "Work")
    write(root, m=PLAIN)
    assert not memory.code.check(root=root)
    commit(root, "Allow negative numbers")
    commit(root, "Refuse them after all", m=RESHAPED)
    write(root, m=PLAIN)
    (one,) = memory.code.check(root=root).undone  # another change than that of the rejected round
    assert one.instruction == "Refuse them after all"


def test_what_the_message_cites_is_undone_on_purpose(memory: Memory, root: Path) -> None:
    sha = commit(root, "Refuse negative numbers", m=GUARDED)
    write(root, m=PLAIN)
    assert memory.code.check(root=root, message="Simplify")
    assert not memory.code.check(root=root, message=f"Negative numbers are fine, see {sha[:8]}")


def test_citing_the_commit_that_took_in_a_round_means_the_round(memory: Memory, root: Path) -> None:
    write(root, m=GUARDED)
    memory.code.record("Retry.", root=root)
    sha = commit(root, "Retry", m=GUARDED)
    write(root, m=PLAIN)
    assert memory.code.check(root=root)
    assert not memory.code.check(root=root, message=f"Undoes: {sha[:9]}")


def test_a_round_is_cited_by_its_whole_id(memory: Memory, root: Path) -> None:
    """An id begins with its time: the first digits would excuse all rounds of some seconds."""
    write(root, m=GUARDED)
    (block,) = memory.code.record("Refuse negative numbers.", root=root)
    commit(root, "Work")
    write(root, m=PLAIN)
    found = memory.code.check(root=root, depth=0, message=f"Undoes: {block.id[:9]}").undone
    assert [one.citation for one in found] == [block.id]
    assert not memory.code.check(root=root, message=f"Undoes: {block.id}")


def test_a_virtual_environment_that_nobody_ignores_is_none_of_the_project(
    memory: Memory, root: Path
) -> None:
    write(root, m=GUARDED)
    for folder in (".env", "venv", "mine/lib/site-packages"):
        (root / folder).mkdir(parents=True)
        write(root / folder, dependency="def parse():\n    return 1\n")
    recorded = memory.code.record("Retry.", root=root)
    assert {block.path for block in recorded} == {"m.py"}


def test_staged_changes_and_ranges_of_commits_are_checked(memory: Memory, root: Path) -> None:
    commit(root, "Refuse negative numbers", m=GUARDED)
    write(root, m=PLAIN)
    assert not memory.code.check(root=root, staged=True)
    git(root, "add", "m.py")
    assert memory.code.check(root=root, staged=True)
    commit(root, "Simplify")
    assert memory.code.check(root=root, commits="HEAD~1..HEAD")
    assert memory.code.check(root=root, commits="HEAD~1")
    git(root, "revert", "--no-edit", "HEAD")
    git(root, "revert", "--no-edit", "HEAD")
    assert not memory.code.check(root=root, commits="HEAD~1..HEAD")  # says what it reverts


def test_history_is_followed_through_a_rename_of_the_file(memory: Memory, root: Path) -> None:
    commit(root, "Refuse negative numbers", m=GUARDED)
    git(root, "mv", "m.py", "n.py")
    commit(root, "Rename")
    write(root, n=PLAIN)
    (one,) = memory.code.check(root=root).undone
    assert (one.path, one.instruction) == ("n.py", "Refuse negative numbers")


def test_a_repository_without_a_commit_has_nothing_to_undo(memory: Memory, tmp_path: Path) -> None:
    bare = tmp_path / "new"
    bare.mkdir()
    git(bare, "init", "--quiet")
    write(bare, m=PLAIN)
    assert not memory.code.check(root=bare)


def test_any_character_may_stand_in_a_message(memory: Memory, root: Path) -> None:
    commit(root, "Refuse\x1e negative\x1f numbers\n\nM\tm.py", m=GUARDED)
    write(root, m=PLAIN)
    (found,) = memory.code.check(root=root).undone
    assert found.instruction.startswith("Refuse\x1e negative\x1f numbers")


@pytest.mark.parametrize("name", ["[m]", ":m", "*", ":(top)m"])
def test_a_name_that_looks_like_a_pattern_has_its_own_history(
    memory: Memory, root: Path, name: str
) -> None:
    commit(root, "Begin again", **{name: PLAIN})
    commit(root, "Refuse negative numbers", **{name: GUARDED})
    commit(root, "The same elsewhere", m=GUARDED)
    write(root, **{name: PLAIN})
    (found,) = memory.code.check(root=root, depth=1).undone
    assert (found.path, found.instruction) == (f"{name}.py", "Refuse negative numbers")


def test_what_cannot_be_checked_is_refused(memory: Memory, root: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="git init"):
        memory.code.check(root=tmp_path)
    with pytest.raises(UnknownName, match="no commit 'nowhere'"):
        memory.code.check(root=root, commits="nowhere..HEAD")
    with pytest.raises(InputError, match="not both"):
        memory.code.check(root=root, commits="HEAD", staged=True)
    with pytest.raises(InputError, match="at least 0"):
        memory.code.check(root=root, depth=-1)


def test_a_round_and_the_commit_that_took_it_in_are_told_once(memory: Memory, root: Path) -> None:
    write(root, m=GUARDED)
    (block,) = memory.code.record("Raise a ValueError for negative numbers.", root=root)
    sha = commit(root, "Refuse negative numbers\n\nSee #7.")
    begun, told = memory.code.log("half", root=root)
    assert (begun.instruction, begun.commit == begun.id) == ("Begin", True)
    assert (told.id, told.commit, told.instruction) == (block.id, sha, block.instruction)
    assert told.message.startswith("Refuse negative numbers")
    assert [one.source for one in sorted(told.change.added, key=lambda one: one.first_line)] == [
        "if n < 0:",
        'raise ValueError("negative")',
    ]


def test_a_commit_is_part_of_the_last_round_before_it_that_left_its_code(
    memory: Memory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", "2021-01-01T00:00:00Z")
        guarded = commit(root, "Refuse negative numbers", m=GUARDED)
    write(root, m=PLAIN)  # the code of the first commit, which took in no round
    memory.code.record("Allow them.", root=root)
    write(root, m=RESHAPED)
    memory.code.record("Refuse them again.", root=root)
    write(root, m=PLAIN)
    memory.code.record("Allow them after all.", root=root)
    last = commit(root, "Allow negative numbers")
    assert [(told.instruction, told.commit) for told in memory.code.log("half", root=root)] == [
        ("Begin", git(root, "rev-list", "--max-parents=0", "HEAD").strip()),
        ("Refuse negative numbers", guarded),
        ("Allow them.", ""),
        ("Refuse them again.", ""),
        ("Allow them after all.", last),
    ]


def test_a_round_is_recorded_noted_and_told_at_a_terminal(root: Path) -> None:
    write(root, m=GUARDED)
    assert "m.py::half" in run(root, "record", "Raise a ValueError for negative numbers.").stdout
    assert run(root, "log", "half", "--note", "fine").exit_code == 0
    assert run(root, "log", "half", "--outcome", "accepted").stdout.endswith(" m.py::half\n")
    sha = commit(root, "Refuse negative numbers")
    told = run(root, "log", "half").stdout
    assert "Begin" in told
    assert "accepted: fine" in told
    again = run(root, "record", "Again")
    assert (again.exit_code, again.stdout) == (2, "")
    assert "record a change before it is committed" in again.stderr
    assert f"  commit {sha[:9]}: Refuse negative numbers\n" in told
    assert '  + if n < 0:\n  + raise ValueError("negative")\n' in told


def test_at_a_terminal_a_check_says_what_is_undone_and_fails(root: Path) -> None:
    sha = commit(root, "Refuse negative numbers", m=GUARDED)
    assert run(root, "check").exit_code == 0
    write(root, m=RESHAPED)
    assert run(root, "check").exit_code == 0
    write(root, m=PLAIN)
    result = run(root, "check")
    assert result.exit_code == FOUND
    assert f"undoes: Refuse negative numbers (commit {sha[:9]}" in result.stdout
    assert 'was line 3: raise ValueError("negative")' in result.stdout
    assert f"\nUndoes: {sha[:9]}\n" in result.stderr
    found = json.loads(run(root, "check", "--json").stdout)
    assert (found["name"], found["definition"]) == (sha, "half")
    assert not (root.parent / "memory.db").exists()


def test_a_check_at_a_terminal_asks_a_memory_on_a_server(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)  # no --root: the folder is the caller's, not the server's
    sha = commit(root, "Refuse negative numbers", m=GUARDED)
    with serving(url=tmp_path / "memory.db", code_roots=(tmp_path,)) as url:
        asked = ["code", "check", "--memory", url]
        kept = CliRunner().invoke(app, asked)
        assert (kept.exit_code, kept.stdout) == (0, ""), kept.stderr
        write(root, m=PLAIN)
        result = CliRunner().invoke(app, asked)
        assert result.exit_code == FOUND
        assert f"undoes: Refuse negative numbers (commit {sha[:9]}" in result.stdout


def test_a_commit_message_hook_passes_what_the_message_cites(root: Path, tmp_path: Path) -> None:
    sha = commit(root, "Refuse negative numbers", m=GUARDED)
    write(root, m=PLAIN)
    git(root, "add", "m.py")
    message = tmp_path / "message"
    message.write_text("Simplify\n")
    assert run(root, "check", "--staged", "--message-file", str(message)).exit_code == FOUND
    message.write_text(f"Simplify\n\nUndoes: {sha}\n")
    assert run(root, "check", "--staged", "--message-file", str(message)).exit_code == 0


def test_a_question_is_answered_and_rounds_forgotten_at_a_terminal(root: Path) -> None:
    where = ("--memory", str(root.parent / "memory.db"))
    write(root, m=GUARDED)
    run(root, "record", "Refuse negative numbers")
    CliRunner().invoke(app, ["add", "half() breaks below zero", *where])
    CliRunner().invoke(app, ["code", "index", str(root), *where])
    asked = ["code", "search", "--talk", "why does half() raise?", *where]
    told = CliRunner().invoke(app, asked).stdout
    assert all(one in told for one in ("breaks below zero", "Refuse negative", "m.py:1-5 half"))
    talk, round_, code = map(
        json.loads, CliRunner().invoke(app, [*asked, "--json"]).stdout.split("\n")[:3]
    )
    assert (talk["source"], round_["definition"], code["path"]) == ("notes", "half", "m.py")
    unasked = CliRunner().invoke(app, ["code", "forget", "half", *where])
    assert unasked.exit_code == 2
    assert "1 round will be erased for good:\n  half: Refuse negative" in unasked.stderr
    forgotten = CliRunner().invoke(app, ["code", "forget", "half", "--yes", *where])
    assert "1 round forgotten" in forgotten.stdout
    assert "file forgotten" in run(root, "forget").stdout
    assert CliRunner().invoke(app, ["code", "forget", *where]).exit_code == 2
