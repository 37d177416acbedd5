"""``treering spaces``: the spaces of a file, and removing one."""

from __future__ import annotations

from typing import Annotated

import typer

from treering.cli.global_options import Globals, run_of_group
from treering.cli.options import command, spelled_out
from treering.cli.output import counted, note
from treering.cli.run import Run
from treering.cli.upkeep import STILL_READ, Yes, confirm

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, subcommand_metavar="[COMMAND]"
)


@app.callback(invoke_without_command=True)
@spelled_out
def spaces(ctx: typer.Context, options: Globals) -> None:
    """List the spaces of the file, or remove one."""
    run = run_of_group(ctx, options)
    if run is None:
        return
    with run.memory(whole=True) as memory:
        for name in memory.spaces():
            run.out.emit({"space": name}, name)


@command(app)
def remove(
    run: Run,
    name: Annotated[str, typer.Argument(help="The space.")],
    yes: Yes = False,
) -> None:
    """Erase a space: all it holds, its name, and the keys that open only it."""
    with run.in_space(name).memory() as memory:
        entries = memory.stats().entries
        held = counted(entries, "entry", "entries")
        note(f"the space {name!r} with {held} and its keys will be erased for good")
        if not yes:
            confirm()
        done = memory.forget_space(name)
    keys = done.views.get("keys", 0)
    also = f" and {counted(keys, 'key', 'keys')}" if keys else ""
    gone = counted(len(done.entries), "entry", "entries")
    run.out.emit(done, f"removed {name} with {gone}{also}")
    if not done.scrubbed:
        note(STILL_READ)
