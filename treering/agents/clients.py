"""The agents that treering supports: the places of their settings, and treering's values in them.

Each format was read in the client's own documentation; docs/how-to/agents.md says which page.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treering.agents.edits import Form, SettingsEdit
from treering.errors import UnknownName
from treering.text import nearest_told

NAME = "treering"
TIMEOUT_S = 10
"""A client stops a hook after this time. The hook itself ends after two seconds."""

_UVX_CACHE = "archive-v0"
"""The folder of uv's cache in which ``uvx`` makes environments that go away again."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """The command that runs treering, and the options that a user chose for a client."""

    command: tuple[str, ...]
    memory: str
    space: str | None = None
    also: tuple[str, ...] = ()

    def server(self) -> list[str]:
        """Return the arguments that start the MCP server."""
        also = [word for name in self.also for word in ("--also", name)]
        return [*self.command, "mcp", *self._options(), *also]

    def hook(self, event: str, client: str) -> str:
        """Return the line that runs a hook, as every shell reads it: sh, cmd, PowerShell, Git Bash.

        Slashes work in a path everywhere. Quotes are only around white space, because PowerShell
        takes a quoted program for a text.
        """
        beside = [f"--also={','.join(self.also)}"] if self.also else []
        words = [*self.command, "hook", event, "--client", client, *self._options(), *beside]
        return " ".join(map(_shell_word, words))

    def _options(self) -> list[str]:
        space = ["--space", self.space] if self.space else []
        return ["--memory", self.memory, *space]


def own_command() -> tuple[str, ...]:
    """Return the command that runs this treering again, from any folder and without a PATH."""
    if _UVX_CACHE in Path(sys.prefix).parts:
        return ("uvx", "--from", "treering[mcp]", "treering")
    beside = shutil.which("treering", path=str(Path(sys.executable).parent))
    return (beside,) if beside is not None else (sys.executable, "-m", "treering")


def _shell_word(word: str) -> str:
    if sys.platform == "win32":
        word = word.replace("\\", "/")
        return f'"{word}"' if " " in word else word
    import shlex

    return shlex.quote(word)


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file of a client and the edits for it; a new file begins as ``start``."""

    path: Path
    form: Form
    edits: tuple[SettingsEdit, ...]
    start: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    """An agent. ``home`` is the folder that exists where the client is installed; ``past`` matches
    the files of past conversations in it, and is empty if treering cannot read their form.
    """

    name: str
    title: str
    home: Callable[[], Path]
    files: Callable[[Launcher], tuple[SettingsFile, ...]]
    has_hooks: bool = False
    past: str = ""
    note: str = ""

    @property
    def is_here(self) -> bool:
        """Whether this user has the client."""
        return self.home().is_dir()

    def sessions(self) -> Iterable[Path]:
        """Return the files of past conversations."""
        return self.home().glob(self.past)


def client_named(name: str) -> Client:
    """Return the client of that name. Raise UnknownName."""
    for client in CLIENTS:
        if client.name == name:
            return client
    names = [client.name for client in CLIENTS]
    raise UnknownName(f"no agent {name!r}{nearest_told(name, names)}; there are {', '.join(names)}")


# ---------------------------------------------------------------------- places of settings


def _folder(variable: str, default: str) -> Path:
    """Return the folder that a variable names, else the default below the user's home."""
    value = os.environ.get(variable)
    return Path(value) if value else Path.home() / default


def _claude_home() -> Path:
    return _folder("CLAUDE_CONFIG_DIR", ".claude")


def _codex_home() -> Path:
    return _folder("CODEX_HOME", ".codex")


def _config() -> Path:
    return _folder("XDG_CONFIG_HOME", ".config")


def _programs() -> Path:
    """Return the folder in which programs with windows keep their settings."""
    if sys.platform == "win32":
        return _folder("APPDATA", "AppData/Roaming")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return _config()


def _code_home() -> Path:
    return _programs() / "Code" / "User"


def _zed_home() -> Path:
    return _programs() / "Zed" if sys.platform == "win32" else _config() / "zed"


def _below_home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


# ---------------------------------------------------------------------- values in settings


def _server(launcher: Launcher, above: str, **more: Any) -> SettingsEdit:
    """Return the entry of an MCP server under a key, in the form that most clients share."""
    command, *args = launcher.server()
    return SettingsEdit((above, NAME), {**more, "command": command, "args": args})


def _server_file(
    home: Callable[[], Path], name: str, above: str, **more: Any
) -> Callable[[Launcher], tuple[SettingsFile, ...]]:
    """Return the settings of a client that only gets the MCP server."""
    return lambda launcher: (
        SettingsFile(home() / name, "json", (_server(launcher, above, **more),)),
    )


def _hooks(
    launcher: Launcher, client: str, events: Mapping[str, str], **more: Any
) -> tuple[SettingsEdit, ...]:
    """Return hooks; with ``more`` in the form that Claude Code began: event, group, handler."""
    edits = []
    for name, event in events.items():
        line = {"command": launcher.hook(event, client)}
        value = {"hooks": [{"type": "command", **line, **more}]} if more else line
        edits.append(SettingsEdit(("hooks", name), value, f"hook {event} --client"))
    return tuple(edits)


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
    "SessionEnd": "session-end",
}
"""Not PreCompress, which comes before every request, nearly always without a compaction."""
_CURSOR_EVENTS = {
    "sessionStart": "session-start",
    "beforeSubmitPrompt": "prompt",
    "afterAgentResponse": "turn",
}


def _claude_code(launcher: Launcher) -> tuple[SettingsFile, ...]:
    servers = _folder("CLAUDE_CONFIG_DIR", "") / ".claude.json"
    hooks = _hooks(launcher, "claude-code", _CLAUDE_EVENTS, timeout=TIMEOUT_S)
    # Without alwaysLoad the model sees the tools only once it looks for them.
    server = _server(launcher, "mcpServers", type="stdio", alwaysLoad=True)
    return (
        SettingsFile(servers, "json", (server,)),
        SettingsFile(_claude_home() / "settings.json", "json", hooks),
    )


def _codex(launcher: Launcher) -> tuple[SettingsFile, ...]:
    home, server = _codex_home(), _server(launcher, "mcp_servers")
    hooks = _hooks(launcher, "codex", _CODEX_EVENTS, timeout=TIMEOUT_S)
    return (
        SettingsFile(home / "config.toml", "toml", (server,)),
        SettingsFile(home / "hooks.json", "json", hooks),
    )


def _cursor(launcher: Launcher) -> tuple[SettingsFile, ...]:
    home = Path.home() / ".cursor"
    hooks = _hooks(launcher, "cursor", _CURSOR_EVENTS)
    return (
        SettingsFile(home / "mcp.json", "json", (_server(launcher, "mcpServers"),)),
        SettingsFile(home / "hooks.json", "json", hooks, '{\n  "version": 1\n}\n'),
    )


def _gemini(launcher: Launcher) -> tuple[SettingsFile, ...]:
    hooks = _hooks(launcher, "gemini", _GEMINI_EVENTS, name=NAME, timeout=1000 * TIMEOUT_S)
    edits = (_server(launcher, "mcpServers"), *hooks)
    return (SettingsFile(Path.home() / ".gemini" / "settings.json", "json", edits),)


def _opencode(launcher: Launcher) -> tuple[SettingsFile, ...]:
    value = {"type": "local", "command": launcher.server(), "enabled": True}
    commented = _config() / "opencode" / "opencode.jsonc"
    path = commented if commented.is_file() else commented.with_suffix(".json")
    return (SettingsFile(path, "json", (SettingsEdit(("mcp", NAME), value),)),)


_TRUST = "Codex runs new hooks once you have looked at them: type /hooks there and trust them."
_WINDSURF = _below_home(".codeium", "windsurf")

CLIENTS = (
    Client("claude-code", "Claude Code", _claude_home, _claude_code, True, "projects/**/*.jsonl"),
    Client("codex", "Codex", _codex_home, _codex, True, "sessions/**/rollout-*.jsonl", _TRUST),
    Client("cursor", "Cursor", _below_home(".cursor"), _cursor, True),
    Client("gemini", "Gemini CLI", _below_home(".gemini"), _gemini, True),
    Client("opencode", "OpenCode", lambda: _config() / "opencode", _opencode),
    Client(
        "vscode",
        "VS Code",
        _code_home,
        _server_file(_code_home, "mcp.json", "servers", type="stdio"),
    ),
    Client(
        "windsurf",
        "Windsurf",
        _WINDSURF,
        _server_file(_WINDSURF, "mcp_config.json", "mcpServers"),
    ),
    Client("zed", "Zed", _zed_home, _server_file(_zed_home, "settings.json", "context_servers")),
)
