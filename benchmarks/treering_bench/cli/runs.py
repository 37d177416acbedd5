"""``treering-bench run``, ``data`` and ``report``: public benchmarks and their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from treering.cli.options import command
from treering.cli.output import note
from treering_bench import report as tables
from treering_bench.options import AsJson, RunOptions, progress_bar
from treering_bench.registry import benchmark, benchmarks
from treering_bench.results import read
from treering_bench.runner import run as run_benchmark

app = typer.Typer(add_completion=False)

_SOURCE = ("url", "licence", "files", "unseen")

Name = Annotated[str, typer.Argument(help="A benchmark; `treering-bench data` lists them.")]


@command(app)
def run(name: Name, options: RunOptions, as_json: AsJson = False) -> None:
    """Run a benchmark; cases that the results file holds are not measured again."""
    try:
        finished = run_benchmark(benchmark(name), options, progress_bar)
    except KeyboardInterrupt:
        note("interrupted: the results are saved, and the same command goes on from there")
        raise
    if finished.held:
        note(f"the results file held {finished.held} lines before; the figures are of all in it")
    if not as_json:
        typer.echo(tables.report(finished.scores))
    typer.echo(json.dumps(finished.summary))


@app.command()
def data(
    name: Annotated[str | None, typer.Argument(help="A benchmark; all if not given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say where a benchmark's data is to be had, and its licence."""
    chosen = [benchmark(name)] if name else list(benchmarks().values())
    if as_json:
        described = {
            entry.name: {field: getattr(entry, field) for field in ("title", *_SOURCE)}
            for entry in chosen
        }
        typer.echo(json.dumps(described))
        return
    for entry in chosen:
        typer.echo(f"{entry.name}: {entry.title}")
        typer.echo(f"  from     {entry.url}")
        typer.echo(f"  licence  {entry.licence}")
        typer.echo(f"  --data   {entry.files}")
        if entry.unseen:
            typer.echo("  run on   no real file yet: the loader follows the published format")


@app.command()
def report(
    results: Annotated[list[Path], typer.Argument(help="Results files of `run`.")],
    against: Annotated[Path | None, typer.Option(help="An earlier run to compare with.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="The policy others are compared with.")
    ] = None,
    overview: Annotated[
        list[str],
        typer.Option(help="One table of all results, with this policy; may be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    cases: Annotated[
        int | None,
        typer.Option(min=1, help="So many cases instead, with their answers; see `run --shown`."),
    ] = None,
) -> None:
    """Render results as Markdown tables, compare two runs, or show single cases."""
    runs = [tables.Scores.group(*read(path)) for path in results]
    if overview:
        typer.echo(tables.overview(runs, overview, reference or overview[0]))
        return
    for scores in runs:
        if cases:
            typer.echo(tables.cases(scores, cases))
        elif against:
            typer.echo(tables.compare(scores, tables.Scores.group(*read(against))))
        else:
            typer.echo(tables.report(scores, reference))
