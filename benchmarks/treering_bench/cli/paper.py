"""``treering-bench paper``: repeat a table or figure of a paper."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from treering_bench.options import MinutesLimit, chosen_among
from treering_bench.paper import EXPERIMENTS, Places, experiments_table, program
from treering_bench.paper import run as run_experiment

app = typer.Typer(add_completion=False)

Spec = Annotated[str, typer.Option(metavar="SPEC", help="Answers, writes and plays.")]


@app.command()
def paper(
    name: Annotated[
        list[str] | None, typer.Argument(help="Experiments, g1 to g5 too. Without one: the table.")
    ] = None,
    data: Annotated[str, typer.Option(help="A folder with a folder for each benchmark.")] = "DATA",
    sources: Annotated[str, typer.Option(help="A folder for each Python project.")] = "SOURCES",
    llm: Spec = "MODEL",
    judge: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Judges. Default: the model itself.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="FILE", help="A GGUF file to tune. Default: the model.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for results.")] = Path("results"),
    limit: Annotated[
        int | None, typer.Option(min=1, help="A small run: so many questions, rows or texts.")
    ] = None,
    minutes: MinutesLimit = None,
    dry: Annotated[bool, typer.Option("--dry", help="Only print the commands.")] = False,
) -> None:
    """Repeat experiments of the papers; the same command goes on where it was stopped."""
    if not name:
        typer.echo(experiments_table())
        return
    places = Places(data, sources, llm, judge or llm, model or llm, str(out), limit, minutes)
    for chosen in chosen_among(name, EXPERIMENTS):
        experiment = EXPERIMENTS[chosen]
        if dry:
            for command in experiment.filled(places):
                typer.echo(f"{program(command).replace('_', '-')} {shlex.join(command)}")
        elif code := run_experiment(experiment, places):
            raise typer.Exit(code)
