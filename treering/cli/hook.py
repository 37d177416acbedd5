"""``treering hook``: what agents run at their events, and how to look at it and to stop it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from treering.agents import switches
from treering.agents.home import working_folder
from treering.agents.hook import CLIENTS, EVENTS
from treering.agents.hook import main as run_event
from treering.agents.project import project_of
from treering.cli.options import command
from treering.cli.output import Part, counted, note
from treering.cli.run import Run
from treering.errors import UnknownName
from treering.hooks import hook_log

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)

_HELP = {
    "session-start": "Give a brief of the project: for the start of a session.",
    "prompt": "Give the few lines that matter to a prompt, or nothing.",
    "turn": "Take in what was said: for the end of a turn.",
    "compact": "Take in what was said: for the moment before a compaction.",
    "session-end": "Take in what was said: for the end of a session.",
}


def _event(name: str) -> Callable[..., None]:
    """The command of an event. ``treering.__main__`` runs it itself, without this parser."""

    def event(
        run: Run,
        client: Annotated[
            str, typer.Option(help=f"Whose form the event has: {', '.join(CLIENTS)}.")
        ] = CLIENTS[0],
        personal: Annotated[
            bool, typer.Option("--personal", help="Recall from the space 'default', too.")
        ] = False,
    ) -> None:
        space = ["--space", run.named_space] if run.named_space else []
        memory = ["--memory", run.url] if run.is_named else []
        beside = ["--personal"] if personal else []
        sys.exit(run_event([name, "--client", client, *memory, *space, *beside]))

    event.__doc__ = f"{_HELP[name]} The event's JSON is read from standard input."
    return event


for _name in EVENTS:
    command(app, name=_name)(_event(_name))


@command(app)
def log(
    run: Run,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 20,
) -> None:
    """Show what hooks put in and took in, the newest last; texts are looked up in the memory."""
    records = hook_log.records(limit)
    for record in records:
        run.out.emit(record, *_shown(record, run.embedder))
    if not records:
        note("no hook of an agent has run yet; `treering install` lists the agents that are here")


@command(app)
def off(run: Run) -> None:
    """Switch hooks off in the project of this folder; what is said meanwhile is never taken in."""
    _switch(run, on=False)


@command(app)
def on(run: Run) -> None:
    """Switch hooks on again in the project of this folder."""
    _switch(run, on=True)


@command(app)
def status(run: Run) -> None:
    """Show the memory, project and space of hooks in this folder, and whether they are on."""
    memory, space = run.hook_memory, run.agent_space
    project = project_of(working_folder())
    record: dict[str, Any] = {
        "memory": memory,
        "project": project,
        "space": space.name,
        "space_reason": space.reason,
        "on": not switches.is_off(project),
    }
    state = "on" if record["on"] else "off"
    run.out.emit(
        record,
        f"memory   {memory}\nproject  {project or 'none'}\n"
        f"space    {space.name} ({space.reason})\nhooks    {state}",
    )


@command(app)
def serve(
    run: Run,
    idle: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            envvar="TREERING_HOOK_IDLE",
            show_envvar=False,
            help="Of quiet, after which it ends. Default: $TREERING_HOOK_IDLE, else 1800.",
        ),
    ] = 1800.0,
) -> None:
    """Keep a memory warm for hooks, which start this by themselves."""
    from treering.agents.server import serve as serve_hooks

    memory = run.hook_memory
    if not serve_hooks(memory, idle_s=idle, embedder=run.embedder):
        note(f"another server keeps {memory} warm already")


@command(app)
def stop(run: Run) -> None:
    """End the server that keeps the memory warm, if one runs; the next hook starts another."""
    from treering.agents.server import stop as stop_server

    ran = stop_server(run.hook_memory)
    run.out.emit({"stopped": ran}, "the server has ended" if ran else "no server runs")


def _switch(run: Run, *, on: bool) -> None:
    project = project_of(working_folder())
    switches.switch(project, on)
    state = "on" if on else "off"
    where = project or "your home folder"
    run.out.emit({"project": project, "on": on}, f"hooks are {state} in {where}")


def _texts(record: dict[str, Any], embedder: str | None) -> Iterator[str]:
    """Look up the texts of the entries that a record names."""
    memory, entry_ids = Path(str(record.get("memory"))), record.get("entries")
    if not entry_ids or not memory.is_file():
        return
    from treering.memory import Memory

    space = str(record["space"])
    with Memory.open(memory, space=space, embedder=embedder, llm="none") as opened:
        for entry_id in entry_ids:
            try:
                text = " ".join(opened.get(entry_id).text.split())
            except UnknownName:
                text = "(not in this space, or forgotten since)"
            yield f"{entry_id}  {text[:120]}"


def _shown(record: dict[str, Any], embedder: str | None) -> Iterator[Part]:
    yield f"{str(record.get('at', ''))[:19]}  ", "dim"
    yield f"{record.get('client')} {record.get('event')}", "cyan"
    yield f"  {record.get('space')}: "
    if error := record.get("error"):
        yield str(error), "red"
    elif taken_in := record.get("taken_in"):
        yield f"took in {counted(int(taken_in), 'message', 'messages')}"
    elif not record.get("entries"):
        yield "nothing put in"
    else:
        yield f"put in {record.get('tokens')} tokens in {record.get('ms')} ms"
    for line in _texts(record, embedder):
        yield f"\n    {line}"
