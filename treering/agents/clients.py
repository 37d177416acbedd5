"""The agents that treering can be put into: where their settings are, and what goes into them.

Each format was read in the client's own documentation; docs/how-to/agents.md says which page.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treering.agents.edits import Form, SettingsEdit
from treering.agents.hook import EVENTS
from treering.agents.launch import Launcher
from treering.errors import UnknownName
from treering.text import nearest_told

NAME = "treering"
TIMEOUT_S = 10
"""After which a client stops a hook. The hook itself ends after two seconds."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file of a client and what goes into it."""

    path: Path
    form: Form
    changes: tuple[SettingsEdit, ...]


@dataclass(frozen=True, slots=True)
class Client:
    """An agent. ``home`` is the folder that is there where the client is installed; ``sessions``
    are the files of past conversations, None if they have no form that can be read.
    """

    name: str
    title: str
    home: Callable[[], Path]
    files: Callable[[Launcher], tuple[SettingsFile, ...]]
    hooks: bool
    note: str = ""
    sessions: Callable[[], Iterable[Path]] | None = None

    @property
    def is_here(self) -> bool:
        """Whether this user has the client."""
        return self.home().is_dir()


def client_of(name: str) -> Client:
    """The client of that name. Raises UnknownName."""
    for client in CLIENTS:
        if client.name == name:
            return client
    names = [client.name for client in CLIENTS]
    raise UnknownName(
        f"there is no client {name!r}{nearest_told(name, names)}; there are {', '.join(names)}"
    )


# ---------------------------------------------------------------------- where settings are


def _claude_home() -> Path:
    return _from_environment("CLAUDE_CONFIG_DIR") or Path.home() / ".claude"


def _claude_servers() -> Path:
    moved = _from_environment("CLAUDE_CONFIG_DIR")
    return (moved or Path.home()) / ".claude.json"


def _codex_home() -> Path:
    return _from_environment("CODEX_HOME") or Path.home() / ".codex"


def _cursor_home() -> Path:
    return Path.home() / ".cursor"


def _gemini_home() -> Path:
    return Path.home() / ".gemini"


def _windsurf_home() -> Path:
    return Path.home() / ".codeium" / "windsurf"


def _code_home() -> Path:
    return _programs() / "Code" / "User"


def _zed_home() -> Path:
    if sys.platform == "win32":
        return _programs() / "Zed"
    return _config() / "zed"


def _opencode_home() -> Path:
    return _config() / "opencode"


def _config() -> Path:
    return _from_environment("XDG_CONFIG_HOME") or Path.home() / ".config"


def _programs() -> Path:
    """Where programs with windows keep their settings."""
    if sys.platform == "win32":
        return _from_environment("APPDATA") or Path.home() / "AppData" / "Roaming"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return _config()


def _from_environment(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None


# ---------------------------------------------------------------------- what goes into them


def _server(*above: str, **more: Any) -> Callable[[Launcher], SettingsEdit]:
    """The entry of an MCP server under a key, in the form that most clients share."""

    def change(launcher: Launcher) -> SettingsEdit:
        command, *args = launcher.server()
        return SettingsEdit((*above, NAME), {**more, "command": command, "args": args})

    return change


def _groups(client: str, names: Mapping[str, str], **more: Any) -> Callable[[Launcher], Any]:
    """Hooks in the form that Claude Code began: event, group, handler."""

    def changes(launcher: Launcher) -> tuple[SettingsEdit, ...]:
        return tuple(
            SettingsEdit(
                ("hooks", name),
                {"hooks": [{"type": "command", "command": launcher.hook(event, client), **more}]},
                "first",
                mark=_mark(event),
            )
            for name, event in names.items()
        )

    return changes


def _mark(event: str) -> str:
    return f"hook {event} --client"


_CLAUDE_EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "Stop": "turn",
    "PreCompact": "compact",
    "SessionEnd": "session-end",
}
_CODEX_EVENTS = {name: event for name, event in _CLAUDE_EVENTS.items() if name != "SessionEnd"}
_GEMINI_EVENTS = {
    "SessionStart": "session-start",
    "BeforeAgent": "prompt",
    "AfterAgent": "turn",
    "PreCompress": "compact",
    "SessionEnd": "session-end",
}
_CURSOR_EVENTS = {
    "sessionStart": "session-start",
    "beforeSubmitPrompt": "prompt",
    "afterAgentResponse": "turn",
}
assert set(_CLAUDE_EVENTS.values()) == set(EVENTS)


def _claude_code(launcher: Launcher) -> tuple[SettingsFile, ...]:
    server = _server("mcpServers", type="stdio")(launcher)
    hooks = _groups("claude-code", _CLAUDE_EVENTS, timeout=TIMEOUT_S)(launcher)
    return (
        SettingsFile(_claude_servers(), "json", (server,)),
        SettingsFile(_claude_home() / "settings.json", "json", hooks),
    )


def _codex(launcher: Launcher) -> tuple[SettingsFile, ...]:
    hooks = _groups("codex", _CODEX_EVENTS, timeout=TIMEOUT_S)(launcher)
    return (
        SettingsFile(_codex_home() / "config.toml", "toml", (_server("mcp_servers")(launcher),)),
        SettingsFile(_codex_home() / "hooks.json", "json", hooks),
    )


def _cursor(launcher: Launcher) -> tuple[SettingsFile, ...]:
    hooks = tuple(
        SettingsEdit(
            ("hooks", name), {"command": launcher.hook(event, "cursor")}, "first", _mark(event)
        )
        for name, event in _CURSOR_EVENTS.items()
    )
    version = SettingsEdit(("version",), 1, "unless")
    return (
        SettingsFile(_cursor_home() / "mcp.json", "json", (_server("mcpServers")(launcher),)),
        SettingsFile(_cursor_home() / "hooks.json", "json", (version, *hooks)),
    )


def _gemini(launcher: Launcher) -> tuple[SettingsFile, ...]:
    milliseconds = 1000 * TIMEOUT_S
    hooks = _groups("gemini", _GEMINI_EVENTS, name=NAME, timeout=milliseconds)(launcher)
    changes = (_server("mcpServers")(launcher), *hooks)
    return (SettingsFile(_gemini_home() / "settings.json", "json", changes),)


def _vscode(launcher: Launcher) -> tuple[SettingsFile, ...]:
    server = _server("servers", type="stdio")(launcher)
    return (SettingsFile(_code_home() / "mcp.json", "json", (server,)),)


def _windsurf(launcher: Launcher) -> tuple[SettingsFile, ...]:
    path = _windsurf_home() / "mcp_config.json"
    return (SettingsFile(path, "json", (_server("mcpServers")(launcher),)),)


def _zed(launcher: Launcher) -> tuple[SettingsFile, ...]:
    path = _zed_home() / "settings.json"
    return (SettingsFile(path, "json", (_server("context_servers")(launcher),)),)


def _opencode(launcher: Launcher) -> tuple[SettingsFile, ...]:
    value = {"type": "local", "command": launcher.server(), "enabled": True}
    commented = _opencode_home() / "opencode.jsonc"
    path = commented if commented.is_file() else _opencode_home() / "opencode.json"
    return (SettingsFile(path, "json", (SettingsEdit(("mcp", NAME), value),)),)


def _claude_sessions() -> Iterable[Path]:
    return (_claude_home() / "projects").rglob("*.jsonl")


def _codex_sessions() -> Iterable[Path]:
    return (_codex_home() / "sessions").rglob("rollout-*.jsonl")


_TRUST = "Codex runs new hooks once you have looked at them: type /hooks there and trust them."

CLIENTS = (
    Client(
        "claude-code", "Claude Code", _claude_home, _claude_code, True, sessions=_claude_sessions
    ),
    Client("codex", "Codex", _codex_home, _codex, True, _TRUST, _codex_sessions),
    Client("cursor", "Cursor", _cursor_home, _cursor, hooks=True),
    Client("gemini", "Gemini CLI", _gemini_home, _gemini, hooks=True),
    Client("opencode", "OpenCode", _opencode_home, _opencode, hooks=False),
    Client("vscode", "VS Code", _code_home, _vscode, hooks=False),
    Client("windsurf", "Windsurf", _windsurf_home, _windsurf, hooks=False),
    Client("zed", "Zed", _zed_home, _zed, hooks=False),
)
