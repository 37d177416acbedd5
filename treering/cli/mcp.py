"""``treering mcp``: serve a memory to a model's client over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treering.cli.options import command
from treering.cli.run import Run

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@command(app)
def mcp(
    run: Run,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="The memory's file; made if it is not there."),
    ] = None,
) -> None:
    """Serve a memory over standard input and output, for clients of the Model Context Protocol."""
    from treering.serve.mcp.server import serve_stdio

    with run.for_agent(file).memory(create=True, begins=True) as memory:
        serve_stdio(memory)
