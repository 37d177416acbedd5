"""``treering install``, ``uninstall`` and which memory a command takes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.agents.conftest import Hook, repository, wait_until
from tests.ingest.clients import claude_line
from treering.agents.project import project_of
from treering.cli.main import app

Command = Callable[..., str]


def records(output: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def test_install_alone_lists_what_is_here(treering_command: Command, home: Path) -> None:
    (home / ".codex").mkdir()
    listed = {one["client"]: one for one in records(treering_command(home, "install", "--json"))}
    assert listed["codex"] == {"client": "codex", "found": True, "installed": False, "hooks": True}
    assert listed["zed"]["found"] is False
    assert "Zed          server            not on this machine\n" in treering_command(
        home, "install"
    )
    treering_command(home, "install", "codex")
    assert "Codex        server and hooks  connected" in treering_command(home, "install")


def test_install_names_the_users_own_memory_and_says_what_it_did(
    treering_command: Command, home: Path, memory_path: Path
) -> None:
    (home / "work" / "treering.db").touch()  # which an agent must not take
    shown = treering_command(home / "work", "install", "codex")
    assert f"wrote      {home}/.codex/config.toml" in shown
    assert "type /hooks there and trust them" in shown
    assert str(memory_path) in (home / ".codex" / "config.toml").read_text()
    assert "unchanged" in treering_command(home, "install", "codex")
    treering_command(home, "uninstall", "codex")
    assert not (home / ".codex").exists()
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("model = 'o5'\n")
    treering_command(home, "install", "codex")
    assert "stays: " in treering_command(home, "uninstall", "codex")


def test_a_dry_run_shows_the_diff(treering_command: Command, home: Path) -> None:
    shown = treering_command(home, "install", "zed", "--dry-run", "-m", "m.db", "--space", "mine")
    assert f"+++ {home}/.config/zed/settings.json" in shown
    assert f'"{home / "m.db"}",' in shown
    assert '"mine"' in shown
    assert not (home / ".config").exists()


def test_without_a_name_commands_take_the_users_own_memory_and_say_so_once(
    treering_command: Command, home: Path, memory_path: Path
) -> None:
    boat = repository(home / "boat", "git@host:ana/boat.git")
    first = treering_command(boat, "add", "The mast is nine metres long.")
    assert f"your own memory is made: {memory_path}" in first
    assert memory_path.parent.stat().st_mode & 0o077 == 0
    second = treering_command(boat / ".git", "add", "The keel is of lead.")
    assert "your own memory" not in second
    assert not list(home.glob("**/treering.db"))
    assert treering_command(home, "spaces").split() == ["host/ana/boat"]
    assert "mast" in treering_command(boat, "list")
    treering_command(home, "add", "I like tea.")
    assert sorted(treering_command(home, "spaces").split()) == ["default", "host/ana/boat"]
    assert "tea" not in treering_command(boat, "list")
    assert "tea" in treering_command(boat, "list", "--space", "default")


def test_a_project_in_which_nothing_was_said_is_told(
    treering_command: Command, home: Path, memory_path: Path
) -> None:
    assert "is empty" in treering_command(home / "work", "search", "tea")
    treering_command(home / "work", "add", "I like tea.")
    boat = repository(home / "boat", "git@host:ana/boat.git")
    for command in (["search", "tea"], ["context", "tea"], ["brief"], ["list"], ["facts"]):
        shown = treering_command(boat, *command)
        assert shown.startswith("the space 'host/ana/boat' is empty"), command
    with pytest.raises(AssertionError, match="there is no space 'host/ana/boat'"):
        treering_command(boat, "show", "nope")
    with pytest.raises(AssertionError, match="there is no space 'boat'"):
        treering_command(boat, "search", "tea", "--space", "boat")


def test_a_project_that_gets_a_remote_is_told_its_former_space(
    treering_command: Command, home: Path, memory_path: Path
) -> None:
    boat = home / "my boat"
    (boat / ".git").mkdir(parents=True)
    treering_command(boat, "add", "The mast is nine metres long.")
    treering_command(home, "add", "I like tea.")
    (boat / ".git" / "config").write_text('[remote "origin"]\nurl = git@host:ana/boat.git\n')
    hint = treering_command(boat, "brief").strip()
    assert f"but '{boat}' was the space of this folder before" in hint
    export, imported = (shlex.split(part)[1:] for part in hint.partition(": ")[2].split(" | "))
    (home / "old").write_text(treering_command(home, *export))
    treering_command(home, *imported[:1], str(home / "old"), *imported[1:])
    assert "mast" in treering_command(boat, "list")
    assert "tea" not in treering_command(boat, "list")


def test_a_memory_that_is_here_or_named_comes_first(
    treering_command: Command, home: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boat = repository(home / "boat", "git@host:ana/boat.git")
    treering_command(boat, "add", "Here.", "-m", "treering.db")
    treering_command(boat, "add", "Here too.")
    assert treering_command(boat, "spaces").split() == ["default"]
    monkeypatch.setenv("TREERING_MEMORY", str(home / "named.db"))
    treering_command(boat, "add", "Named.")
    assert "Named" in treering_command(boat, "list")
    assert not memory_path.exists()


def test_status_names_the_memory_that_an_agent_was_installed_with(
    treering_command: Command, home: Path, memory_path: Path
) -> None:
    assert "agents   none: see `treering install`" in treering_command(home, "hook")
    for client in ("claude-code", "codex", "zed"):
        treering_command(home, "install", client, "-m", str(home / f"{client}.db"))
    [shown] = records(treering_command(home, "hook", "--json"))
    assert shown["installed"] == {
        "claude-code": str(home / "claude-code.db"),
        "codex": str(home / "codex.db"),
    }
    assert shown["memory"] == str(home / "claude-code.db")
    assert shown["on"]
    [shown] = records(treering_command(home, "hook", "--off", "--json"))
    assert not shown["on"]
    assert "hooks are off" in treering_command(home, "hook", "log")
    assert "hooks    off in this project\n" in treering_command(home, "hook")
    assert "hooks    on\n" in treering_command(home / "work", "hook")
    assert "hooks    on\n" in treering_command(home, "hook", "--on")
    assert "hooks are off" not in treering_command(home, "hook", "log")
    text = treering_command(home, "hook")
    assert f"agents   claude-code ({home}/claude-code.db), codex ({home}/codex.db)\n" in text


@pytest.mark.parametrize(
    ("options", "environment", "shown"),
    [
        ((), {"TREERING_MEMORY": "life.db"}, "host/ana/boat (the git repository of this folder)"),
        (("-m", "life.db"), {}, "host/ana/boat (the git repository of this folder)"),
        (("--space", "mine"), {"TREERING_SPACE": "x"}, "mine (chosen by --space)"),
        ((), {"TREERING_SPACE": "mine"}, "mine (chosen by TREERING_SPACE)"),
    ],
)
def test_status_says_why_a_space_was_chosen(
    treering_command: Command,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    environment: dict[str, str],
    shown: str,
) -> None:
    boat = repository(home / "boat", "https://host/ana/boat")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert f"space    {shown}\n" in treering_command(boat, "hook", *options)
    at_home = treering_command(home, "hook", *options)
    apart = treering_command(home / "work", "hook", *options)
    if shown.startswith("host"):
        assert "space    default (this folder belongs to no project)\n" in at_home
        own = f"{project_of(home / 'work')} (this folder, which is in no git repository)"
        assert f"space    {own}\n" in apart
    else:
        assert all(f"space    {shown}\n" in text for text in (at_home, apart))


@pytest.mark.parametrize("named", [None, "life.db"])
def test_past_sessions_go_to_their_projects_once(
    treering_command: Command,
    home: Path,
    memory_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    named: str | None,
) -> None:
    if named is not None:
        monkeypatch.setenv("TREERING_MEMORY", str(home / named))
    boat = repository(home / "boat", "git@host:ana/boat.git")
    sessions = home / ".claude" / "projects" / "x"
    sessions.mkdir(parents=True)
    lines = {
        "boat": claude_line(1, "user", "The mast is nine metres long.", cwd=str(boat / "sails")),
        "gone": claude_line(1, "user", "The shop is sold.", cwd="/gone/shop", uuid="other"),
    }
    (boat / "sails").mkdir()
    treering_command(boat, "hook", "--off")
    now = datetime.now(UTC).isoformat()
    off = claude_line(2, "user", "Between us.", cwd=str(boat), timestamp=now)
    treering_command(boat, "hook", "--on")
    for name, line in lines.items():
        (sessions / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    (sessions / "off.jsonl").write_text(json.dumps(off) + "\n")
    (sessions / "odd.jsonl").write_text("no transcript\n")
    shown = treering_command(home / "work", "install", "claude-code", "--past")
    assert "imported 1 message of host/ana/boat" in shown
    assert "imported 1 message of /gone/shop" in shown
    assert "odd.jsonl: no transcript" in shown
    assert sorted(treering_command(home, "spaces").split()) == ["/gone/shop", "host/ana/boat"]
    assert "mast" in treering_command(boat, "list", "--space", "host/ana/boat")
    again = treering_command(home, "install", "claude-code", "--past")
    assert "imported 0 messages of host/ana/boat" in again


def test_sessions_without_a_known_form_are_not_guessed_at(
    treering_command: Command, home: Path
) -> None:
    with pytest.raises(AssertionError, match="in no form that treering reads"):
        treering_command(home, "install", "zed", "--past")


def test_the_last_uninstall_ends_servers_and_leaves_the_memory(
    treering_command: Command, home: Path, server: Path, hook: Hook
) -> None:
    treering_command(home / "work", "add", "I like tea.")
    treering_command(home, "install", "gemini")
    hook("prompt", {"prompt": "tea"}, "--client", "gemini")
    treering_command(home, "uninstall", "gemini")
    wait_until(lambda: not (server.parent / "agents" / "run").exists())
    assert not (home / ".gemini").exists()
    assert "tea" in treering_command(home / "work", "list")


def test_a_folder_that_was_removed_meanwhile_hinders_no_command(
    treering_command: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    treering_command(home, "add", "I like tea.", "-m", str(home / "m.db"))
    (home / "gone").mkdir()
    monkeypatch.chdir(home / "gone")
    (home / "gone").rmdir()
    result = CliRunner().invoke(app, ["list", "-m", str(home / "m.db")])
    assert "tea" in result.output
