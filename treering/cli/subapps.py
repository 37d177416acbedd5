"""Sub-commands that bring their own typer app, imported when they are called and not before."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from treering.cli.failures import reported


@dataclass(frozen=True, slots=True)
class SubApp:
    """Where the ``app`` of ``treering NAME`` is, and its line in ``treering --help``."""

    module: str
    help: str


SUB_APPS: dict[str, SubApp] = {
    "code": SubApp("treering.cli.code", "Code: index, search, record work on it, guard it."),
    "memo": SubApp("treering.cli.memo", "Read and correct what has been talked about, by topic."),
    "tree": SubApp("treering.cli.tree", "Look at the tree of summaries."),
    "serve": SubApp("treering.cli.serve", "Serve the memory over HTTP; keys for the server."),
    "mcp": SubApp("treering.cli.mcp", "Serve a memory to clients of the Model Context Protocol."),
    "hook": SubApp("treering.cli.hook", "What agents run at their events; look at it, stop it."),
    "bench": SubApp("treering.cli.bench", "Measure quality on public benchmarks."),
}
"""Sub-apps by name: add a line here, and ``app = typer.Typer(...)`` in the module it names."""


class _Deferred(TyperGroup):
    """Stands for a sub-app in the help; becomes the real one when it is called."""

    def __init__(self, name: str, sub_app: SubApp) -> None:
        super().__init__(name=name, help=sub_app.help)
        self._module = sub_app.module

    def load(self) -> Any:
        """The real command group."""
        return typer.main.get_command(import_module(self._module).app)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        return self.load().make_context(*args, **kwargs)


class Root(TyperGroup):
    """The commands of treering, the sub-apps among them; failures end as documented."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names, sub-apps last."""
        return [*super().list_commands(ctx), *SUB_APPS]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """A command by name; a sub-app not imported yet."""
        if cmd_name in SUB_APPS:
            return _Deferred(cmd_name, SUB_APPS[cmd_name])
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run a command."""
        with reported():
            return super().invoke(ctx)
