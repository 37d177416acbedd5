"""From nothing to a working memory and back, by what is written into the settings and no more."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.agents.conftest import WAIT_S, put_in, repository, wait_until
from tests.agents.test_long_session import BEGINNINGS, claude_turn, codex_turn
from tests.cli.conftest import PLUGINS, ROOT
from treering.agents.edits import read
from treering.agents.project import project_of
from treering.agents.server import stop
from treering.hooks import inbox

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="runs the lines in sh")

FILES = {
    "claude-code": (".claude.json", "mcpServers", ".claude/settings.json", claude_turn),
    "codex": (".codex/config.toml", "mcp_servers", ".codex/hooks.json", codex_turn),
}


def settings(path: Path) -> Any:
    return read(path.read_text("utf-8"), "toml" if path.suffix == ".toml" else "json")


def run(command: list[str], content: str) -> str:
    """What a client does with a command; the package is that of this checkout."""
    path = os.pathsep.join((str(ROOT), str(PLUGINS)))
    done = subprocess.run(
        command,
        input=content.encode(),
        capture_output=True,
        timeout=WAIT_S,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@pytest.mark.parametrize("client", FILES)
def test_one_command_gives_an_agent_a_memory_and_one_takes_it_away(
    treering_command: Callable[..., str], home: Path, memory_path: Path, client: str
) -> None:
    servers_file, key, hooks_file, turn_of = FILES[client]
    treering_command(home, "install", client)
    hooks = settings(home / hooks_file)["hooks"]

    def fire(event: str, **payload: Any) -> dict[str, Any]:
        [group] = hooks[event]
        [handler] = group["hooks"]
        whole = {"session_id": "s", "hook_event_name": event, "cwd": str(home / "work"), **payload}
        answer: dict[str, Any] = json.loads(
            run(["/bin/sh", "-c", handler["command"]], json.dumps(whole))
        )
        return answer

    path = home / "rollout-s.jsonl"
    lines = [*BEGINNINGS[client], *turn_of(3)]  # releases go out on Tuesdays
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    fire("SessionStart", source="startup", transcript_path=str(path))
    fire("Stop", transcript_path=str(path))
    wait_until(lambda: memory_path.is_file() and not any(inbox.waiting_jobs(str(memory_path))))
    question = "On which day do releases go out, Tuesdays only?"
    wait_until(
        lambda: "Tuesdays only" in put_in(fire("UserPromptSubmit", session_id="t", prompt=question))
    )
    server = settings(home / servers_file)[key]["treering"]
    assert "Tuesdays only" in call([server["command"], *server["args"]], home / "work")
    stop(str(memory_path))
    treering_command(home, "uninstall", client)
    left = [str(found.relative_to(home)) for found in home.iterdir()]
    assert sorted(left) == [".local", "rollout-s.jsonl", "work"]
    assert shlex.split(treering_command(home, "spaces")) == [project_of(home / "work")]


def test_an_agents_server_serves_the_project_it_is_started_in(
    treering_command: Callable[..., str], home: Path
) -> None:
    memory = str(home / "life.db")
    boat = repository(home / "boat", "git@host:ana/boat.git")
    for space, text in {"default": "in spring", "host/ana/boat": "on Tuesdays"}.items():
        text = f"The releases are {text}."
        treering_command(home, "add", text, "-m", memory, "--space", space)
    treering_command(home, "install", "claude-code", "-m", memory)
    server = settings(home / ".claude.json")["mcpServers"]["treering"]
    for folder, own, other in ((boat, "Tuesdays", "spring"), (home, "spring", "Tuesdays")):
        answer = call([server["command"], *server["args"]], folder)
        assert own in answer
        assert other not in answer


def call(command: list[str], folder: Path | None = None) -> str:
    """What an MCP server answers to a call of ``recall``."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(PLUGINS)))},
        text=True,
    ) as running:
        watch = Timer(WAIT_S, running.kill)
        watch.start()
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.writelines(requests())
        running.stdin.flush()
        answer = next((line for line in running.stdout if '"id":2' in line), "")
        running.stdin.close()
        running.wait()
        watch.cancel()
        return answer


def requests() -> list[str]:
    """What an MCP client sends to begin, and a call."""
    start = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    recall = {"name": "recall", "arguments": {"query": "releases"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": recall},
    ]
    return [json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages]
