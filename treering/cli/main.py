"""The command line. Sub-apps are registered in ``treering.cli.subapps``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

import treering
from treering.cli import (
    agents,
    bench,
    configure,
    doctor,
    facts,
    ingest,
    moving,
    recall,
    taking_in,
    upkeep,
)
from treering.cli.global_options import Globals, environment
from treering.cli.options import spelled_out
from treering.cli.output import use_utf8
from treering.cli.subapps import Root

_EPILOG = (
    "Exit codes: 0 done, also when a search finds nothing; 1 another failure; "
    "2 input that cannot be accepted; 3 the memory's file; 4 the embedding model; "
    "5 the language model; 6 a check found something (code check, copy, doctor); "
    "130 interrupted; 141 the reader of the output has left; "
    "143 ended by SIGTERM."
)


class _Treering(Root):
    apps = tuple(
        module.commands
        for module in (
            taking_in,
            ingest,
            recall,
            facts,
            upkeep,
            moving,
            configure,
            doctor,
            agents,
            bench,
        )
    )


app = typer.Typer(
    cls=_Treering,
    no_args_is_help=True,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},  # sub-commands take it over
    pretty_exceptions_enable=False,  # it would print local variables: keys and remembered text
)


def _version(asked_for: bool) -> None:
    if asked_for:
        typer.echo(treering.__version__)
        raise typer.Exit()


@app.callback()
@spelled_out
def root(
    ctx: typer.Context,
    options: Globals,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_version, help="Print the version."),
    ] = False,
) -> None:
    """A long-term memory for language models and agents, in one file."""
    del version  # its callback has ended the process
    use_utf8()
    ctx.obj = options.over(environment(os.environ))
