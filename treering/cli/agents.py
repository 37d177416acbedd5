"""Commands for agents: install, uninstall, and the MCP server that they start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treering.cli.options import command, opt
from treering.cli.output import note, plural
from treering.cli.run import Run
from treering.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from treering.agents.clients import Launcher
    from treering.agents.installer import FilePlan

commands = typer.Typer()


@command(
    commands,
    client="The agent; without one, all are listed, with whether they are here.",
    also=opt("Let it recall from this space, too; may be repeated.", metavar="SPACE"),
    past="Import its past sessions, each into its project's space.",
)
def install(
    run: Run,
    client: Annotated[str | None, typer.Argument()] = None,
    dry_run: bool = False,
    also: list[str] | None = None,
    past: bool = False,
) -> None:
    """Put treering into an agent's settings: the MCP server and, where it has them, hooks.

    Everything else in the files stays, and a copy of each is kept. A JSON file with comments is not
    changed: you get the lines to paste. A server called treering is replaced, and so are hooks that
    run `treering hook`. A second run changes nothing. The agent's memory is your own, or the one
    that --memory names. In it each project has its own space, unless --space names one for all.
    """
    if client is None:
        _list(run)
        return
    from treering.agents import installer
    from treering.agents.capture import import_past_sessions
    from treering.agents.clients import client_named

    chosen = client_named(client)
    launcher = _launcher(run, also or [])
    plans = installer.install(chosen, launcher, dry_run=dry_run)
    _print_plans(run, plans, dry_run)
    if dry_run:
        return
    if any(plan.changes_something for plan in plans):
        for backup in installer.backups(chosen):
            note(f"as it was before: {backup}")
        what = "the MCP server and hooks" if chosen.has_hooks else "the MCP server"
        note(f"{chosen.title} has {what} of {launcher.memory}; restart it. {chosen.note}".rstrip())
        if chosen.has_hooks:
            note("`treering hook log` shows how much was stored, and what was added to prompts")
    if past:
        with run.out.progress("importing") as progress:
            messages, skipped = import_past_sessions(
                chosen, launcher.memory, run.named_space, run.embedder, progress
            )
        for space, count in messages.items():
            record = {"space": space, "messages": count}
            run.out.emit(record, f"imported {plural(count, 'message', 'messages')} of {space}")
        for skip in skipped:
            note(f"skipped {skip.path}: {skip.reason}")


@command(commands, client="The agent.")
def uninstall(run: Run, client: str, dry_run: bool = False) -> None:
    """Remove the server called treering and the hooks that run `treering hook` from an agent.

    Everything else in its settings stays, and so do the memory and the copies of the settings.
    """
    from treering.agents import installer
    from treering.agents.clients import CLIENTS, client_named
    from treering.agents.server import stop_all

    chosen = client_named(client)
    plans = installer.uninstall(chosen, dry_run=dry_run)
    _print_plans(run, plans, dry_run)
    for backup in () if dry_run else installer.backups(chosen):
        note(f"the copy from before `treering install` stays: {backup}")
    if not dry_run and not any(map(installer.installed_server, CLIENTS)):
        stop_all(run.hook_memory)


@command(
    commands,
    file=opt("The memory's file; made if it is not there.", metavar="[FILE]"),
    also=opt("Recall from this space, too; may be repeated.", metavar="SPACE"),
)
def mcp(
    run: Run,
    file: Annotated[Path | None, typer.Argument()] = None,
    also: list[str] | None = None,
) -> None:
    """Serve a memory over standard input and output, for clients of the Model Context Protocol."""
    from treering.serve.mcp.server import serve_stdio

    run = run.for_agent(file)
    with run.memory(create=True, begins=True) as memory:
        serve_stdio(memory, run.with_own(memory, also))
    os._exit(0)  # native code of a thread that still indexes would abort the end of Python


def _launcher(run: Run, also: Sequence[str]) -> Launcher:
    """Return how the agent starts treering. Raise InputError, MissingExtra."""
    from treering.agents.clients import Launcher, own_command

    memory = run.hook_memory
    if "://" in memory:
        raise InputError(f"an agent needs a memory in a file, not {memory}")
    if find_spec("mcp") is None:
        raise MissingExtra.of("mcp", "mcp")
    if strange := [name for name in also if "," in name]:
        raise InputError(f"--also {strange[0]!r} has a comma, which separates names in a hook")
    return Launcher(own_command(), memory, run.named_space, tuple(also))


def _list(run: Run) -> None:
    from treering.agents import installer
    from treering.agents.clients import CLIENTS

    for client in CLIENTS:
        installed, found = installer.installed_server(client) is not None, client.is_here
        state = "connected" if installed else f"{'' if found else 'not '}on this machine"
        record = {
            "client": client.name,
            "found": found,
            "installed": installed,
            "hooks": client.has_hooks,
        }
        what = "server and hooks" if client.has_hooks else "server"
        parts = ((f"{client.name:<12}", "cyan"), f"{client.title:<13}{what:<18}{state}")
        run.out.emit(record, *parts)
    note("`treering install NAME` connects an agent; with --dry-run it only shows the changes")


def _print_plans(run: Run, plans: Sequence[FilePlan], dry_run: bool) -> None:
    for plan in plans:
        record = {"file": str(plan.path), "changed": plan.changes_something, "dry_run": dry_run}
        if not plan.changes_something:
            run.out.emit(record, f"unchanged  {plan.path}")
        elif dry_run:
            run.out.emit(record | {"diff": plan.diff()}, plan.diff().rstrip(os.linesep))
        else:
            what = "removed" if plan.after is None else "wrote"
            run.out.emit(record, f"{what:<10} {plan.path}")
