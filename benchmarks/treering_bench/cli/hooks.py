"""``treering-bench hooks``: how long a hook holds a prompt of a coding agent."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT, open_embedder
from treering.errors import InputError
from treering_bench.cli.options import FigureOptions
from treering_bench.hook_latency import HookTimer
from treering_bench.server_load import build

app = typer.Typer(add_completion=False)


@command(app)
def hooks(
    figures: FigureOptions,
    memory: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Hooks of this memory. Default: made-up turns."),
    ] = None,
    fragments: Annotated[
        int, typer.Option(min=1, help="Made-up turns, if no file is named.")
    ] = 100_000,
    prompts: Annotated[int, typer.Option(min=0, help="Prompts with a server that runs.")] = 200,
    colds: Annotated[int, typer.Option(min=0, help="Prompts that find no server.")] = 5,
) -> None:
    """How long a hook holds a prompt: the whole process, with and without a server that runs.

    A hook that was not in time counts as late. Made-up turns have random vectors; prompts are
    embedded by the bundled model.
    """
    if memory is not None and not memory.exists():
        raise InputError(f"there is no file {memory}; leave --memory out to make one")
    with TemporaryDirectory(prefix="treering-") as folder:
        path = memory or Path(folder, "memory.db")
        if memory is None:
            build(path, fragments, open_embedder(DEFAULT))
        measured = HookTimer(path.absolute(), Path(folder)).measure(prompts, colds)
    settings = {"fragments": None if memory else fragments, "prompts": prompts, "colds": colds}
    figures.show("hooks", measured, settings=settings)
