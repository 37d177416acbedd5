"""``treering-bench run``, ``data`` and ``report``: public benchmarks and what came of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from treering.cli.output import note
from treering.embed.registry import DEFAULT as EMBEDDER
from treering_bench import report as tables
from treering_bench.cli.options import (
    AsJson,
    DataPath,
    EmbedderName,
    Seed,
    progress_bar,
)
from treering_bench.registry import AnyBenchmark, benchmark, benchmarks
from treering_bench.results import read
from treering_bench.start import DEFAULT_BUDGET, RunOptions, RunReport, start

app = typer.Typer(add_completion=False)

Name = Annotated[str, typer.Argument(help="A benchmark; `treering-bench data` lists them.")]
Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        help="all, ablation, sweep:alpha, sweep:w, a name, peer:NAME or with:context(w=0.3)@0.5; "
        "may be repeated.",
    ),
]
ResultsFile = Annotated[Path | None, typer.Option(help="Results file; continued if there.")]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="The first so many questions, or of instructions so many of a kind."),
]
Sample = Annotated[
    int | None, typer.Option(min=1, help="So many questions, drawn from all by the seed.")
]
Answering = Annotated[
    str | None,
    typer.Option(metavar="SPEC", help="Answer with this model: http://HOST/v1#MODEL or FILE.gguf."),
]
Judge = Annotated[
    str | None, typer.Option(metavar="SPEC", help="Judge the answers with this model.")
]
Summaries = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        help="Write summaries, memos and ratings, which some policies use, with this model.",
    ),
]
ContextBudget = Annotated[
    int | None,
    typer.Option(min=1, help=f"Tokens of context for an answer. Default: {DEFAULT_BUDGET}."),
]
Sources = Annotated[
    Path | None,
    typer.Option(help="Of a code benchmark: a folder a project. Default: beside --data."),
]
Preset = Annotated[
    str | None,
    typer.Option(help="Let the memory search and write as a paper prints it: `configure`."),
]
Setting = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting on top of the preset, of `configure` or of the tree: k=3, base=0.2, "
        'rate=0.5, fragment="512 tokens"; may be repeated.',
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        min=0.0, help="Of the answering model. Default: 0; the paper's 0.2 for instructions."
    ),
]


@app.command()
def run(
    name: Name,
    data: DataPath,
    policy: Policies = ["all"],  # noqa: B006 - typer copies it
    out: ResultsFile = None,
    limit: Limit = None,
    sample: Sample = None,
    llm: Answering = None,
    judge: Judge = None,
    summaries: Summaries = None,
    budget: ContextBudget = None,
    sources: Sources = None,
    temperature: Temperature = None,
    preset: Preset = None,
    setting: Setting = [],  # noqa: B006
    seed: Seed = 0,
    embedder: EmbedderName = EMBEDDER,
    as_json: AsJson = False,
) -> None:
    """Run a benchmark; what the results file holds already is not measured again."""
    options = RunOptions(
        data=data,
        policies=tuple(policy),
        embedder=embedder,
        budget=budget,
        out=out,
        limit=limit,
        sample=sample,
        llm=llm,
        judge=judge,
        summaries=summaries,
        sources=sources,
        temperature=temperature,
        preset=preset,
        settings=tuple(setting),
        seed=seed,
    )
    try:
        finished = start(benchmark(name), options, progress_bar)
    except KeyboardInterrupt:
        note("interrupted: what was measured is saved, and the same command goes on from there")
        raise
    _show(finished, as_json)


def _show(finished: RunReport, as_json: bool) -> None:
    if finished.held:
        note(f"the results file held {finished.held} lines before; the figures are of all in it")
    if finished.scores and not as_json:
        typer.echo(tables.report(finished.scores))
    typer.echo(json.dumps(finished.summary))


@app.command()
def data(
    name: Annotated[str | None, typer.Argument(help="A benchmark; all if not given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say where a benchmark's data is to be had, its licence, and checksums of files seen."""
    chosen = [benchmark(name)] if name else list(benchmarks().values())
    if as_json:
        typer.echo(json.dumps({entry.name: _described(entry) for entry in chosen}))
        return
    for entry in chosen:
        seen = [f"{file} sha256 {digest}" for file, digest in entry.data.sha256.items()]
        typer.echo(f"{entry.name}: {entry.title}")
        typer.echo(f"  from     {entry.data.url}")
        typer.echo(f"  licence  {entry.data.licence}")
        typer.echo(f"  --data   {entry.data.files}")
        for line in seen or ["no real file yet: the loader follows the published format"]:
            typer.echo(f"  run on   {line}")


def _described(entry: AnyBenchmark) -> dict[str, Any]:
    return {
        "title": entry.title,
        "url": entry.data.url,
        "licence": entry.data.licence,
        "files": entry.data.files,
        "sha256": dict(entry.data.sha256),
    }


@app.command()
def report(
    results: Annotated[list[Path], typer.Argument(help="Results files of `bench run`.")],
    against: Annotated[Path | None, typer.Option(help="An earlier run to compare with.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="The policy others are compared with.")
    ] = None,
    overview: Annotated[
        list[str],
        typer.Option(help="One table of all results, with this policy; may be repeated."),
    ] = [],  # noqa: B006 - typer copies it
) -> None:
    """Render results as Markdown tables, or compare two runs."""
    runs = [tables.Scores.of(*read(path)) for path in results]
    if overview:
        typer.echo(tables.overview(runs, overview, reference or overview[0]))
        return
    for scores in runs:
        if against:
            typer.echo(tables.compare(scores, tables.Scores.of(*read(against))))
        else:
            typer.echo(tables.report(scores, reference))
