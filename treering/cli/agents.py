"""Commands that put treering into agents' settings, and take it out again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from treering.cli.options import command
from treering.cli.output import counted, note
from treering.cli.run import Run
from treering.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from treering.agents.clients import Client
    from treering.agents.installer import FilePlan
    from treering.agents.launch import Launcher

commands = typer.Typer()

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change; change nothing.")]


@command(commands)
def install(
    run: Run,
    client: Annotated[
        str | None,
        typer.Argument(help="The agent; without one, all are listed, with whether they are here."),
    ] = None,
    dry_run: DryRun = False,
    personal: Annotated[
        bool,
        typer.Option("--personal", help="Let hooks recall from the space 'default', too."),
    ] = False,
    past: Annotated[
        bool,
        typer.Option("--past", help="Take in its past sessions, each into its project's space."),
    ] = False,
) -> None:
    """Put treering into an agent's settings: the MCP server and, where it has them, hooks.

    Comments and everything else in the files stay as they are, and a copy of each is kept. Done
    again it changes nothing. The agent's memory is your own, or the one that --memory names. In it
    each project has its own space, unless --space names one for all.
    """
    if client is None:
        _list(run)
        return
    from treering.agents import installer
    from treering.agents.clients import client_of

    chosen = client_of(client)
    launcher = _launcher(run, personal)
    plans = installer.install(chosen, launcher, dry_run=dry_run)
    _show(run, plans, dry_run)
    if dry_run:
        return
    if any(plan.changes_something for plan in plans):
        for backup in installer.backups(chosen):
            note(f"as it was before: {backup}")
        what = "the MCP server and hooks" if chosen.hooks else "the MCP server"
        note(f"{chosen.title} has {what} of {launcher.memory}; restart it. {chosen.note}".rstrip())
    if past:
        _take_in_past(run, chosen, launcher.memory)


@command(commands)
def uninstall(
    run: Run,
    client: Annotated[str, typer.Argument(help="The agent.")],
    dry_run: DryRun = False,
) -> None:
    """Take treering out of an agent's settings; the memory stays.

    A file that is as `install` left it gets its former bytes back; of one that was written since,
    what is ours goes and all else stays. What was changed by hand is named, for you to remove.
    """
    from treering.agents import installer
    from treering.agents.clients import CLIENTS, client_of
    from treering.agents.server import stop_all

    chosen = client_of(client)
    plans = installer.uninstall(chosen, dry_run=dry_run)
    _show(run, plans, dry_run)
    if not dry_run and not any(map(installer.is_installed, CLIENTS)):
        stop_all(run.hook_memory)


def _launcher(run: Run, personal: bool) -> Launcher:
    """How the agent shall start treering. Raises InputError, MissingExtra."""
    from treering.agents.launch import Launcher, own_command

    memory = run.hook_memory
    if "://" in memory:
        raise InputError(f"an agent needs a memory in a file, not {memory}")
    if find_spec("mcp") is None:
        raise MissingExtra.of("mcp", "mcp")
    return Launcher(own_command(), memory, run.named_space, personal)


def _take_in_past(run: Run, client: Client, memory: str) -> None:
    from treering.agents.past import take_in_past

    with run.out.progress("taking in") as progress:
        past = take_in_past(client, memory, run.named_space, run.embedder, progress)
    for space, count in past.messages.items():
        record = {"space": space, "messages": count}
        run.out.emit(record, f"took in {counted(count, 'message', 'messages')} of {space}")
    for skipped in past.skipped:
        note(f"skipped {skipped.path}: {skipped.reason}")


def _list(run: Run) -> None:
    from treering.agents import installer
    from treering.agents.clients import CLIENTS

    for client in CLIENTS:
        installed, found = installer.is_installed(client), client.is_here
        state = "installed" if installed else "found" if found else "not found"
        record = {
            "client": client.name,
            "found": found,
            "installed": installed,
            "hooks": client.hooks,
        }
        what = "server and hooks" if client.hooks else "server"
        parts = ((f"{client.name:<12}", "cyan"), f"{client.title:<13}{what:<18}{state}")
        run.out.emit(record, *parts)
    note("`treering install NAME` puts treering into one; --dry-run shows how")


def _show(run: Run, plans: Sequence[FilePlan], dry_run: bool) -> None:
    for plan in plans:
        record = {"file": str(plan.path), "changed": plan.changes_something, "dry_run": dry_run}
        if not plan.changes_something:
            run.out.emit(record, f"unchanged  {plan.path}")
        elif dry_run:
            run.out.emit(record | {"diff": plan.diff()}, plan.diff().rstrip(os.linesep))
        else:
            what = "removed" if plan.after is None else "wrote"
            run.out.emit(record, f"{what:<10} {plan.path}")
