"""``treering spaces``: the spaces of a file, and removing one."""

from __future__ import annotations

from typing import Annotated

import typer

from treering.cli.options import command
from treering.cli.output import counted, note
from treering.cli.run import Run
from treering.cli.upkeep import STILL_READ, Yes, confirm

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@command(app)
def spaces(
    run: Run,
    remove: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Erase this space: all it holds, its name, its keys."),
    ] = None,
    yes: Yes = False,
) -> None:
    """List the spaces of the file, or remove one."""
    if remove is not None:
        _remove(run, remove, yes)
        return
    with run.memory(whole=True) as memory:
        for name in memory.spaces():
            run.out.emit({"space": name}, name)


def _remove(run: Run, name: str, yes: bool) -> None:
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
