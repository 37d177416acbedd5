from __future__ import annotations

from pathlib import Path

import pytest

from treering.agents.project import project_of, remote_name


def repository(root: Path, config: str) -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text(config)
    return root


def test_every_way_to_write_a_remote_gives_one_name() -> None:
    cases = [
        ("git@github.com:ana/notes.git", "github.com/ana/notes"),
        ("https://github.com/ana/notes", "github.com/ana/notes"),
        ("https://github.com/ana/notes.git/", "github.com/ana/notes"),
        ("https://ana:s3cret@GitHub.com/ana/notes.git", "github.com/ana/notes"),
        ("ssh://git@host.example:2222/group/sub/notes.git", "host.example/group/sub/notes"),
        ("git+ssh://git@host/notes", "host/notes"),
        ("host:notes.git", "host/notes"),
        ("https://dev.azure.com/org/p/_git/notes?version=1", "dev.azure.com/org/p/_git/notes"),
        ("ssh://git@[::1]:22/notes.git", "[::1]/notes"),
        ("../elsewhere.git", None),
        ("/srv/git/notes.git", None),
        (r"C:\repositories\notes", None),
        ("C:/repositories/notes", None),
        ("file:///srv/git/notes.git", None),
        ("https://host", None),
        ("", None),
    ]
    for url, name in cases:
        assert remote_name(url) == name


def test_origin_comes_before_other_remotes(tmp_path: Path) -> None:
    config = (
        '[core]\n\tbare = false\n[remote "fork"]\n\turl = git@host:fork/x.git\n'
        '\tfetch = +refs/heads/*\n[remote "origin"]\n\turl = "git@host:own/x.git"\n'
        '[branch "main"]\n\tremote = fork\n'
    )
    assert project_of(repository(tmp_path / "x", config)) == "host/own/x"


def test_a_repository_without_a_remote_is_its_root(tmp_path: Path) -> None:
    root = repository(tmp_path / "a\nb", "[core]\n")
    assert project_of(root) == str(tmp_path / "a?b")
    (root / ".git" / "config").unlink()
    assert project_of(root) == str(tmp_path / "a?b")


def worktree(folder: Path, common: Path) -> Path:
    """A working tree as ``git worktree add`` makes it."""
    inside = common / "worktrees" / folder.name
    inside.mkdir(parents=True)
    (inside / "commondir").write_text("../..\n")
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {inside}\n")
    return folder


@pytest.mark.parametrize("remote", ['[remote "origin"]\n\turl = https://host/own/x\n', ""])
def test_a_worktree_belongs_to_the_repository_it_was_taken_from(
    tmp_path: Path, remote: str
) -> None:
    root = repository(tmp_path / "x", remote)
    other = worktree(tmp_path / "w", root / ".git")
    assert project_of(other) == project_of(root) == ("host/own/x" if remote else str(root))


def test_worktrees_of_a_bare_repository_are_one_project(tmp_path: Path) -> None:
    (tmp_path / "x.git").mkdir()
    first, second = (worktree(tmp_path / name, tmp_path / "x.git") for name in "ab")
    assert project_of(first) == project_of(second) == str(tmp_path / "x.git")


def test_a_pointer_that_is_damaged_breaks_nothing(tmp_path: Path) -> None:
    for content in ("", "gitdir: \0", f"gitdir: {'x' * 9000}", "x", "gitdir: no"):
        (tmp_path / ".git").write_text(content)
        assert project_of(tmp_path)


def test_each_folder_outside_a_repository_is_a_project(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "letters", tmp_path / "b" / "letters"
    for folder in (first, second):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(first)
    name = project_of(first)
    assert name is not None
    assert name.startswith("letters-")
    assert name != project_of(second)
    assert name == project_of(tmp_path / "link")


def test_the_home_and_the_root_are_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert project_of(tmp_path) is None
    assert project_of(Path(tmp_path.anchor)) is None
    assert project_of(tmp_path / "letters") is not None


@pytest.mark.parametrize("line", ["[a" + " " * 500_000 + "x", "url =" + f"{' ' * 250_000}x" * 2])
@pytest.mark.timeout(30)  # the square of the length would take minutes, before each prompt
def test_settings_that_are_much_white_space_are_read_at_once(tmp_path: Path, line: str) -> None:
    config = f'{line}\n[remote "origin"]\n{line}\n\turl = git@host:own/x.git\n'
    assert project_of(repository(tmp_path / "x", config)) in ("host/own/x", str(tmp_path / "x"))


@pytest.mark.parametrize("config", [b"\xff\xfe", b"[remote\nurl = x", b"\0" * 100])
def test_settings_that_cannot_be_read_break_nothing(tmp_path: Path, config: bytes) -> None:
    root = repository(tmp_path / "x", "")
    (root / ".git" / "config").write_bytes(config)
    assert project_of(root) == str(root)
