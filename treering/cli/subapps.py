"""The commands of treering below a name, in modules that are imported when they are called."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from treering.cli.failures import report_errors


class _PlainFlags:
    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""  # typer would show <bool>
        return params


class Command(_PlainFlags, TyperCommand):
    """A command whose help names no value of a flag."""


class Group(_PlainFlags, TyperGroup):
    """A group of commands whose help names no value of a flag."""


def sub_app(kind: type[Group] = Group, **settings: Any) -> typer.Typer:
    """Return an app for the commands below a name."""
    return typer.Typer(cls=kind, add_completion=False, **settings)


@dataclass(frozen=True, slots=True)
class SubApp:
    """The module whose ``app`` is loaded for a name, and its line in the help.

    ``command`` names one command of that app; without it the name is that of the whole app.
    """

    module: str
    help: str
    command: str | None = None


SUB_APPS: dict[str, SubApp] = {
    "code": SubApp("treering.cli.code", "Code: index, search, record work on it, guard it."),
    "memo": SubApp("treering.cli.memo", "Read and correct memos of conversations, by topic."),
    "tree": SubApp("treering.cli.tree", "Draw the tree of summaries, or grow it again."),
    "relate": SubApp("treering.cli.upkeep", "Find relations for this space with a language model."),
    "serve": SubApp("treering.cli.serve", "Serve the memory over HTTP; keys for the server."),
    "hook": SubApp("treering.cli.hook", "The hooks of agents: look at them, switch them off."),
    "tune": SubApp("treering.cli.tune", "Teach a small model to write memos."),
}
"""Sub-apps by name: add a line here, and ``app = sub_app(...)`` in the module it names."""


class _Deferred(TyperGroup):
    """A placeholder for a sub-app: shown in the help, replaced by the real one when called."""

    def __init__(self, name: str, sub_app: SubApp) -> None:
        super().__init__(name=name, help=sub_app.help)
        self._sub_app = sub_app

    def load(self) -> Any:
        """The real command, or group of commands."""
        loaded: Any = typer.main.get_command(import_module(self._sub_app.module).app)
        return loaded if self._sub_app.command is None else loaded.commands[self._sub_app.command]

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        return self.load().make_context(*args, **kwargs)


class LazyGroup(Group):
    """Commands, some of them in modules that are imported when they are called and not before."""

    sub_apps: ClassVar[Mapping[str, SubApp]] = {}

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names, sub-apps last."""
        del ctx
        return [*self.commands, *self.sub_apps]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """A command by name; a sub-app not imported yet."""
        if cmd_name in self.sub_apps:
            return _Deferred(cmd_name, self.sub_apps[cmd_name])
        return super().get_command(ctx, cmd_name)


class Root(LazyGroup):
    """The commands of treering, sub-apps included. Errors end with the documented exit codes."""

    sub_apps = SUB_APPS

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options before the command."""
        with report_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run a command."""
        if not gc.isenabled():  # see __main__.py
            gc.freeze()
            gc.enable()
        with report_errors():
            return super().invoke(ctx)
