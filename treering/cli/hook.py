"""``treering hook``: look at the hooks of agents, and switch them off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treering.agents.project import are_hooks_off, project_of, switch_hooks, working_folder
from treering.cli.options import command, group, opt
from treering.cli.output import Part, note, plural
from treering.cli.run import Run
from treering.cli.subapps import sub_app
from treering.errors import TreeringError, UnknownName
from treering.hooks import hook_log

if TYPE_CHECKING:
    from treering.memory import Memory

app = sub_app(subcommand_metavar="[COMMAND]")


@group(
    app,
    on=opt("Switch hooks on, or off, in the project of this folder first.", "--on/--off"),
    stop="First end the servers that keep memories warm; the next hook starts one.",
)
def hook(run: Run, on: bool | None = None, stop: bool = False) -> None:
    """Show the memory, project and space of hooks in this folder, and whether they are on.

    Agents run `treering hook EVENT` with the event's JSON on standard input. session-start and
    prompt recall; turn, compact and session-end store the new messages. No hook stores what is said
    while hooks are off, even later, and nor does `treering install --past`. `treering import` of
    the agent's files does.
    """
    space, folder = run.agent_space, working_folder()
    if on is not None:
        switch_hooks(folder, on)
    project, is_on = project_of(folder), not are_hooks_off(folder)
    installed = _installed_memories()
    if stop:
        from treering.agents.server import stop as stop_server

        stopped = [stop_server(place) for place in {run.hook_memory, *installed.values()}]
        note("the server was told to end" if any(stopped) else "no server runs")
    record: dict[str, Any] = {
        "memory": next(iter(installed.values()), run.hook_memory),
        "project": project,
        "space": space.name,
        "space_reason": space.reason,
        "on": is_on,
        "installed": installed,
    }
    places = [f"{client} ({memory})" for client, memory in installed.items()]
    run.out.emit(
        record,
        f"memory   {record['memory']}\nproject  {project or 'none'}\n"
        f"space    {space.name} ({space.reason})\n"
        f"agents   {', '.join(places) or 'none: see `treering install`'}\n"
        f"hooks    {'on' if is_on else 'off in this project'}",
    )


def _installed_memories() -> dict[str, str]:
    """The memory that each agent's hooks were installed with."""
    from treering.agents import installer
    from treering.agents.clients import CLIENTS

    memories = (
        (client, installer.installed_memory(client)) for client in CLIENTS if client.has_hooks
    )
    return {client.name: memory for client, memory in memories if memory is not None}


@command(app, limit=opt("How many at most.", "--limit", "-n", min=1))
def log(run: Run, limit: int = 20) -> None:
    """Show what hooks recalled and stored, the newest last; texts are looked up in the memory."""
    nothing = "no hook of an agent has run yet; `treering install` lists the agents that are here"
    records = hook_log.records(limit)
    run.out.emit_all(records, lambda record: _record_parts(record, run.embedder), nothing)
    if are_hooks_off(working_folder()):
        note("hooks are off in this project; `treering hook --on` switches them on")


def _texts(record: dict[str, Any], embedder: str | None) -> Iterator[str]:
    """Yield the texts of the entries that a record names."""
    memory, entry_ids = Path(str(record.get("memory"))), record.get("entries")
    if not entry_ids or not memory.is_file():
        return
    from treering.memory import Memory

    own, at = str(record["space"]), datetime.fromisoformat(record["at"])
    try:
        with Memory.open(memory, space=own, embedder=embedder, llm="none") as opened:
            names = dict.fromkeys([own, *opened.spaces()])  # --also lets a hook recall from others
            for entry_id in entry_ids:
                texts = (_text(opened, name, entry_id, at) for name in names)
                yield f"{entry_id}  {next(filter(None, texts), '(forgotten since)')}"
    except TreeringError as error:
        yield f"the texts cannot be shown: {error}"


def _text(opened: Memory, space: str, entry_id: str, at: datetime) -> str | None:
    """Return the text of an entry of a space, marked if it was replaced after a time."""
    with suppress(UnknownName):
        memory = opened.space(space)
        text = " ".join(memory.get(entry_id).text.split())[:120]
        changes = memory.history(entry_id)
        is_new = any(change.what == "replaced" and change.at > at for change in changes)
        return f"{text} (corrected since)" if is_new else text
    return None


def _record_parts(record: dict[str, Any], embedder: str | None) -> Iterator[Part]:
    yield f"{str(record.get('at', ''))[:19]}  ", "dim"
    yield f"{record.get('client')} {record.get('event')}", "cyan"
    yield f"  {record.get('space')}: "
    if error := record.get("error"):
        yield str(error), "red"
    elif "taken_in" in record:
        yield f"stored {plural(record['taken_in'], 'message', 'messages')}"
        yield "".join(f", {record[name]} {name}" for name in ("masked", "private") if record[name])
    elif not record.get("entries"):
        why = record.get("why_nothing")
        yield f"nothing added ({why})" if why else "nothing added"
    else:
        yield f"added {record.get('tokens')} tokens in {record.get('ms')} ms"
    for line in _texts(record, embedder):
        yield f"\n    {line}"
