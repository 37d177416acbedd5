"""How a client starts treering: by its entry point, with no shell script between."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

_PASSING = "archive-v0"
"""The folder of uv's cache in which ``uvx`` makes environments that go away again."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """The command that runs treering, and the options that a user chose for a client."""

    command: tuple[str, ...]
    memory: str
    space: str | None = None
    personal: bool = False

    def server(self) -> list[str]:
        """The arguments that start the MCP server."""
        return [*self.command, "mcp", *self._options()]

    def hook(self, event: str, client: str) -> str:
        """The line that runs a hook, as every shell reads it: sh, cmd, PowerShell, Git Bash.

        Slashes do for a path everywhere; quotes only where there is white space, since PowerShell
        takes a quoted program for a text.
        """
        beside = ["--personal"] if self.personal else []
        words = [*self.command, "hook", event, "--client", client, *self._options(), *beside]
        return " ".join(map(_word, words))

    def _options(self) -> list[str]:
        space = ["--space", self.space] if self.space else []
        return ["--memory", self.memory, *space]


def own_command() -> tuple[str, ...]:
    """The command that runs this treering again, from any folder and without a PATH."""
    if _PASSING in Path(sys.prefix).parts:
        return ("uvx", "--from", "treering[mcp]", "treering")
    beside = shutil.which("treering", path=str(Path(sys.executable).parent))
    if beside is not None:
        return (beside,)
    return (sys.executable, "-m", "treering")


def _word(word: str) -> str:
    if sys.platform == "win32":
        word = word.replace("\\", "/")
        return f'"{word}"' if " " in word else word
    import shlex

    return shlex.quote(word)
