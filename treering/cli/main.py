"""The command line. Sub-apps are registered in ``treering.cli.subapps``."""

from __future__ import annotations

import typer

import treering
from treering.cli import agents, doctor, entries, recall, transfer, upkeep
from treering.cli.options import for_typer, opt
from treering.cli.output import use_utf8
from treering.cli.run import Globals
from treering.cli.subapps import Root

_EPILOG = (
    "Exit codes: 0 done, also when a search finds nothing; 1 another failure; "
    "2 input that cannot be accepted; 3 the memory's file; 4 the embedding model; "
    "5 the language model; 6 a check found something (code check, copy, doctor); "
    "130 interrupted; 141 the reader of the output has left; "
    "143 ended by SIGTERM."
)


app = typer.Typer(
    cls=Root,
    no_args_is_help=True,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},  # sub-commands take it over
    pretty_exceptions_enable=False,  # it would print local variables: keys and remembered text
)

for module in (entries, transfer, recall, upkeep, doctor, agents):
    app.registered_commands += module.commands.registered_commands


def _version(asked_for: bool) -> None:
    if asked_for:
        typer.echo(treering.__version__)
        raise typer.Exit()


def root(ctx: typer.Context, options: Globals, version: bool = False) -> None:
    """A long-term memory for language models and agents, in one file."""
    del version  # its callback has ended the process
    use_utf8()
    ctx.obj = options.over(Globals.from_environment())


app.callback()(
    for_typer(root, {"version": opt("Print the version.", is_eager=True, callback=_version)})
)
