from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from treering.agents import installer
from treering.agents.clients import CLIENTS, Client, Launcher, client_named
from treering.agents.edits import read
from treering.errors import InputError, UnknownName

SETTINGS = """{
  "theme": "dark",
  "mcpServers": {
    "other": {
      "command": "x"
    }
  },
  "hooks": {
    "Stop": [
      {
        "command": "say done"
      }
    ]
  }
}
"""
TOML = '# mine\nmodel = "o5"  # kept\n\n[mcp_servers.other]\ncommand = "x"\n'


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content, and every folder, but the copies of settings."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/"
        for path in sorted(folder.rglob("*"))
        if "treering" not in path.parts
    }


def fill(client: Client, launcher: Launcher) -> None:
    """Give a client settings of its own."""
    for file in client.files(launcher):
        file.path.parent.mkdir(parents=True, exist_ok=True)
        settings = TOML if file.form == "toml" else SETTINGS
        file.path.write_bytes(settings.encode())


def meaning(path: Path) -> Any:
    return read(path.read_text("utf-8"), "toml" if path.suffix == ".toml" else "json")


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    chosen: Client = request.param
    return chosen


def test_a_client_is_given_what_it_lacks_once_and_left_as_it_was(
    client: Client, launcher: Launcher, home: Path
) -> None:
    fill(client, launcher)
    before = tree(home)
    lines = {file.path: file.path.read_text().splitlines() for file in client.files(launcher)}
    for plan in installer.install(client, launcher, dry_run=True):
        shown = [line for line in plan.diff().splitlines()[2:] if line[0] in "+-"]
        assert any("treering" in line for line in shown)
        assert all(line.startswith("+") for line in shown)
    assert tree(home) == before, "a dry run writes nothing"

    installer.install(client, launcher)
    installed = tree(home)
    assert installed != before
    for path, there in lines.items():
        assert set(there) <= set(path.read_text().splitlines())

    plans = installer.install(client, launcher)
    assert not any(plan.changes_something for plan in plans)
    assert tree(home) == installed

    installer.uninstall(client)
    assert tree(home) == before


def test_a_client_without_settings_gets_files_that_go_again(
    client: Client, launcher: Launcher, home: Path
) -> None:
    before = tree(home)
    installer.install(client, launcher)
    assert all(file.path.is_file() for file in client.files(launcher))
    installer.uninstall(client)
    assert tree(home) == before


def test_a_layout_of_its_own_is_there_again(client: Client, launcher: Launcher, home: Path) -> None:
    for file in client.files(launcher):
        file.path.parent.mkdir(parents=True, exist_ok=True)
        text = "list = [ 1,2 ]\n" if file.form == "toml" else '{\n  "list": [ 1,2 ]\n}'
        file.path.write_text(text)
    before = tree(home)
    installer.install(client, launcher)
    installer.uninstall(client)
    assert tree(home) == before


def test_other_options_renew_what_was_put_in(launcher: Launcher, home: Path) -> None:
    codex = client_named("codex")
    fill(codex, launcher)
    before = tree(home)
    installer.install(codex, launcher)
    installer.install(codex, replace(launcher, memory="/elsewhere/m.db"))
    server = meaning(home / ".codex" / "config.toml")["mcp_servers"]["treering"]
    assert server["args"] == ["mcp", "--memory", "/elsewhere/m.db"]
    hooks = meaning(home / ".codex" / "hooks.json")["hooks"]
    assert all(json.dumps(groups).count("hook ") == 1 for groups in hooks.values())
    installer.uninstall(codex)
    assert tree(home) == before


def test_what_was_changed_or_removed_by_hand_is_no_hindrance(
    launcher: Launcher, home: Path
) -> None:
    codex = client_named("codex")
    installer.install(codex, launcher)
    config, hooks = home / ".codex" / "config.toml", home / ".codex" / "hooks.json"
    config.write_text("model = 'o5'\n" + config.read_text().replace('"mcp"', '"mcp", "--llm", "x"'))
    hooks.write_text(hooks.read_text().replace("hook prompt", "--space x hook prompt"))
    installer.uninstall(codex)
    assert config.read_text().rstrip() == "model = 'o5'"
    assert not hooks.exists()
    installer.install(codex, launcher)
    hooks.unlink()
    config.write_text("model = 'o5'\n")
    with pytest.raises(InputError, match="is not in the settings of Codex"):
        installer.uninstall(codex)


def test_an_entry_of_that_name_is_replaced_and_kept_as_a_copy(
    launcher: Launcher, home: Path
) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    before = '{"mcpServers": {"treering": {"command": "mine"}, "other": {}}}'
    path.write_text(before)
    installer.install(client_named("cursor"), launcher)
    assert meaning(path)["mcpServers"]["treering"]["args"][0] == "mcp"
    assert [copy.read_text() for copy in installer.backups(client_named("cursor"))] == [before]
    installer.uninstall(client_named("cursor"))
    assert meaning(path) == {"mcpServers": {"other": {}}}


def test_a_file_that_cannot_be_understood_is_named_and_left_alone(
    launcher: Launcher, home: Path
) -> None:
    cases = [
        (b'{"a": 1\n"b": 2}', "line 2: "),
        (b"[1, 2]", "must be an object"),
        (b'{"hooks": 7}', "must be an object"),
        (b'{"hooks": {"Stop": {}}}', "must be a list"),
        (b"\xff\xfe{\x00", "not UTF-8 at byte 0"),
    ]
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    for content, said in cases:
        path.write_bytes(content)
        before = tree(home)
        with pytest.raises(InputError) as raised:
            installer.install(client_named("claude-code"), launcher)
        assert said in str(raised.value)
        assert str(path) in str(raised.value)
        assert tree(home) == before


def test_lines_that_a_user_pasted_beside_comments_count_as_installed(
    launcher: Launcher, home: Path
) -> None:
    zed, path = client_named("zed"), home / ".config" / "zed" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text("// mine\n{}\n")
    with pytest.raises(InputError, match="comments") as raised:
        installer.install(zed, launcher)
    assert path.read_text() == "// mine\n{}\n"
    path.write_text("// mine\n" + str(raised.value).partition("by hand:\n")[2])
    assert installer.installed_memory(zed) == launcher.memory
    assert not any(plan.changes_something for plan in installer.install(zed, launcher))
    with pytest.raises(InputError, match=r"context_servers\.treering by hand"):
        installer.uninstall(zed)


def test_a_folder_in_place_of_a_file_is_named(launcher: Launcher, home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.mkdir(parents=True)
    with pytest.raises(InputError, match=r"mcp\.json cannot be read"):
        installer.install(client_named("cursor"), launcher)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write to")
def test_a_second_file_that_cannot_be_written_leaves_the_first_as_it_was(
    launcher: Launcher, home: Path
) -> None:
    (home / ".claude.json").write_text(SETTINGS)
    (home / ".claude").symlink_to("/proc/not-there")
    before = tree(home)
    with pytest.raises(InputError, match=r"settings\.json cannot be written"):
        installer.install(client_named("claude-code"), launcher)
    assert tree(home) == before


def test_a_link_stays_a_link_and_permissions_stay(launcher: Launcher, home: Path) -> None:
    real = home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    real.chmod(0o640)
    (home / ".claude.json").symlink_to(real)
    installer.install(client_named("claude-code"), launcher)
    assert (home / ".claude.json").is_symlink()
    assert "treering" in meaning(real)["mcpServers"]
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    installer.uninstall(client_named("claude-code"))
    assert real.read_text() == "{}\n"


def test_a_linked_file_of_toml_stays_toml(launcher: Launcher, home: Path) -> None:
    real = home / "config.toml"
    real.touch()
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").symlink_to(real)
    installer.install(client_named("codex"), launcher)
    installer.uninstall(client_named("codex"))
    assert real.read_text() == ""


def test_backups_are_the_former_bytes_and_nobody_elses_to_read(
    launcher: Launcher, home: Path
) -> None:
    fill(client_named("zed"), launcher)
    installer.install(client_named("zed"), launcher)
    [backup] = installer.backups(client_named("zed"))
    assert backup.read_text() == SETTINGS
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    installer.install(client_named("zed"), replace(launcher, memory="/elsewhere/m.db"))
    installer.uninstall(client_named("zed"))
    assert backup.read_text() == SETTINGS, "it stays"
    path = home / ".config" / "zed" / "settings.json"
    path.write_text("{}")
    installer.install(client_named("zed"), launcher)
    assert backup.read_text() == "{}", "of what was there before this time"


def test_a_backup_is_not_replaced_by_a_file_with_hooks_of_treering(
    launcher: Launcher, home: Path
) -> None:
    claude = client_named("claude-code")
    fill(claude, launcher)
    installer.install(claude, launcher)
    (home / ".claude.json").write_text(SETTINGS)
    installer.install(claude, replace(launcher, memory="/elsewhere/m.db"))
    assert [backup.read_text() for backup in installer.backups(claude)] == [SETTINGS] * 2


def test_many_installs_at_once_end_as_one(launcher: Launcher, home: Path) -> None:
    for client in CLIENTS:
        fill(client, launcher)
    before = tree(home)
    twice = [*CLIENTS, *CLIENTS]
    with ThreadPoolExecutor(len(twice)) as pool:
        list(pool.map(lambda client: installer.install(client, launcher), twice))
    for client in CLIENTS:
        assert not any(plan.changes_something for plan in installer.install(client, launcher))
        installer.uninstall(client)
    assert tree(home) == before


def test_what_was_never_installed_is_not_taken_out(home: Path) -> None:
    with pytest.raises(InputError, match="is not in the settings of Cursor"):
        installer.uninstall(client_named("cursor"))
    for typed, meant in (("claude", "claude-code"), ("Codx", "codex"), ("VSCode", "vscode")):
        with pytest.raises(UnknownName, match=f"'{meant}'"):
            client_named(typed)
    with pytest.raises(UnknownName):
        client_named("emacs")
