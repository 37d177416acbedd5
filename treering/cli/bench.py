"""``treering bench``: the benchmarks are a project of their own."""

from __future__ import annotations

import typer

from treering.errors import InputError

commands = typer.Typer()


@commands.command(
    hidden=True,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def bench() -> None:
    """Say where the benchmarks are."""
    raise InputError(
        "the benchmarks are a project of their own: from a checkout of treering, "
        "`pip install ./benchmarks`, then `treering-bench`"
    )
