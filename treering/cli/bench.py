"""``treering bench``: run benchmarks, say where their data is, render what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from treering.bench import generate, plots, report
from treering.bench.peers.registry import installed
from treering.bench.perf import report as speed
from treering.bench.perf.report import TOLERANCE
from treering.bench.perf.run import LEAST_N, OPERATIONS, again, done_as
from treering.bench.perf.run import run as time_operations
from treering.bench.perf.timing import Timed
from treering.bench.registry import Registered, benchmark, benchmarks
from treering.bench.results import read, this_run
from treering.bench.start import DEFAULT_BUDGET, Outcome, Wanted, start
from treering.cli.failures import FOUND
from treering.cli.output import note
from treering.embed.contract import Embedder
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.llm.settings import open_llm
from treering.score.confidence import MODELS, RELEVANT

app = typer.Typer(no_args_is_help=True, help="Measure quality on public benchmarks.")
_log = Console(stderr=True)

AGAIN = 2  # times that what seems slower is timed again

Name = Annotated[str, typer.Argument(help="A benchmark; `treering bench data` lists them.")]
DataPath = Annotated[Path, typer.Option("--data", help="The benchmark's file or folder.")]
Policies = Annotated[
    list[str],
    typer.Option(
        "--policy",
        help="all, ablation, sweep:alpha, sweep:w, a name, peer:NAME or with:context(w=0.3)@0.5; "
        "may be repeated.",
    ),
]


@app.command()
def run(
    name: Name,
    data: DataPath,
    policy: Policies = ["all"],  # noqa: B006 - typer copies it
    out: Annotated[Path | None, typer.Option(help="Results file; continued if there.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="The first so many questions, or of instructions so many of each kind."
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="So many questions, drawn from all by the seed.")
    ] = None,
    llm: Annotated[
        str | None, typer.Option(help="Answer with this model (a .gguf file or URL#model).")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Judge the answers with this model.")] = None,
    summaries: Annotated[
        str | None,
        typer.Option(
            help="Write summaries, memos and ratings, which some policies use, with this model."
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help=f"Tokens of context for an answer. [default: {DEFAULT_BUDGET}]"),
    ] = None,
    sources: Annotated[
        Path | None,
        typer.Option(help="Of a code benchmark: a folder a project. [default: beside --data]"),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="Of the answering model. [default: 0; the paper's 0.2 for instructions]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 0,
    embedder: Annotated[str, typer.Option(help="The embedding model.")] = EMBEDDER,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object only.")] = False,
) -> None:
    """Run a benchmark; what the results file holds already is not measured again."""
    wanted = Wanted(
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
        seed=seed,
    )
    try:
        outcome = start(benchmark(name), wanted, _progress)
    except KeyboardInterrupt:
        note("interrupted: what was measured is saved, and the same command goes on from there")
        raise
    _tell(outcome, as_json)


def _tell(outcome: Outcome, as_json: bool) -> None:
    if outcome.held:
        note(f"the results file held {outcome.held} lines before; the figures are of all in it")
    if outcome.scores and not as_json:
        typer.echo(report.report(outcome.scores))
    typer.echo(json.dumps(outcome.summary))


@app.command()
def confidence(
    fitted: Annotated[
        list[str],
        typer.Option("--fit", metavar="NAME=PATH", help="Fit to this; may be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    tested: Annotated[
        list[str],
        typer.Option("--test", metavar="NAME=PATH", help="Measure on this; may be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="What is less sure is left out.")
    ] = RELEVANT,
    limit: Annotated[
        int | None, typer.Option(min=1, help="So many questions of each benchmark, drawn by 0.")
    ] = None,
    embedder: Annotated[str, typer.Option(help="The embedding model.")] = EMBEDDER,
) -> None:
    """Fit `hit.confidence` on benchmarks and measure it on others; one JSON object a line.

    Each question is asked of a memory with its evidence and without. Without --fit the package's
    own model is measured.
    """
    from treering.bench import confidence as measure

    model = open_embedder(embedder)
    asked = {
        pair: list(measure.asked_benchmark(*_named_path(pair), model, limit))
        for pair in dict.fromkeys([*fitted, *tested])
    }
    questions = [question for pair in fitted for question in asked[pair]]
    chosen = measure.fit(questions) if fitted else MODELS[0]
    typer.echo(json.dumps(asdict(chosen)))
    for pair in tested:
        report = measure.measured(asked[pair], chosen, threshold)
        typer.echo(json.dumps({"benchmark": pair.partition("=")[0]} | asdict(report)))


def _named_path(pair: str) -> tuple[str, Path]:
    name, equals, path = pair.partition("=")
    if not equals:
        raise InputError(f"{pair!r} names no data; give NAME=PATH, such as locomo=locomo10.json")
    return name, Path(path)


@app.command()
def data(
    name: Annotated[str | None, typer.Argument(help="A benchmark; all if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object only.")] = False,
) -> None:
    """Say where a benchmark's data is to be had, its licence, and checksums of files seen."""
    chosen = [benchmark(name)] if name else list(benchmarks().values())
    if as_json:
        typer.echo(json.dumps({one.name: _described(one) for one in chosen}))
        return
    for one in chosen:
        seen = [f"{file} sha256 {digest}" for file, digest in one.data.sha256.items()]
        typer.echo(f"{one.name}: {one.title}")
        typer.echo(f"  from     {one.data.url}")
        typer.echo(f"  licence  {one.data.licence}")
        typer.echo(f"  --data   {one.data.files}")
        for line in seen or ["no real file yet: the loader follows the published format"]:
            typer.echo(f"  run on   {line}")


@app.command("report")
def report_(
    results: Annotated[list[Path], typer.Argument(help="Results files of `bench run`.")],
    against: Annotated[Path | None, typer.Option(help="An earlier run to compare with.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="The policy others are compared with.")
    ] = None,
    overview: Annotated[
        list[str],
        typer.Option(help="One table of all results, with this policy; may be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    plot: Annotated[Path | None, typer.Option(help="Also save plots into this folder.")] = None,
    form: Annotated[str, typer.Option("--format", help="svg or png.")] = "svg",
) -> None:
    """Render results as Markdown tables, compare two runs, draw plots."""
    runs = {path: report.Scores.of(*read(path)) for path in results}
    if overview:
        typer.echo(report.overview(list(runs.values()), overview, reference or overview[0]))
        return
    for path, scores in runs.items():
        if against:
            typer.echo(report.compare(scores, report.Scores.of(*read(against))))
        else:
            typer.echo(report.report(scores, reference))
        if plot:
            plots.plot_policies(scores, plot / f"{path.stem}-policies.{form}")
            plots.plot_budgets(scores, plot / f"{path.stem}-budgets.{form}")
            plots.plot_sweeps(scores, plot, path.stem, form)


@app.command()
def perf(
    max_n: Annotated[int, typer.Option(min=LEAST_N, help="The largest size.")] = 100_000,
    operation: Annotated[
        list[str], typer.Option(help="Time this only; may be repeated. [default: all]")
    ] = [],  # noqa: B006 - typer copies it
    peers: Annotated[
        bool, typer.Option(help="Time other systems too, as far as installed.")
    ] = True,
    out: Annotated[Path | None, typer.Option(help="Save the timings; continued if there.")] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep what is filled here, for a run that is cut short and goes on; no peers.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Fail if a ratio is worse than in these timings, or a folder's."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=1.0, help="What a ratio may grow by before that counts.")
    ] = TOLERANCE,
    plot: Annotated[Path | None, typer.Option(help="Also save plots into this folder.")] = None,
    form: Annotated[str, typer.Option("--format", help="svg or png.")] = "svg",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object only.")] = False,
) -> None:
    """Time what treering does over growing sizes, against the physical limit and other systems."""
    earlier = speed.usual(against) if against else None
    model = open_embedder(EMBEDDER)
    header = this_run(speed.BENCHMARK, "", 0, {"max_n": max_n, "embedder": model.name})
    timings = speed.goes_on(out, header) if out else speed.Timings(header, ())
    others = installed() if peers and not keep else {}
    chosen = operation or OPERATIONS
    for timed in _told(time_operations(chosen, max_n, model, others, timings.done, keep)):
        timings = replace(timings, timed=(*timings.timed, *timed))
        if out:
            speed.write(out, timings)  # each time, so that a run that is cut short goes on
    if earlier:
        timings = _again(timings, earlier, tolerance, max_n, model, keep)
        if out:
            speed.write(out, timings)
    for name in timings.operations if plot else ():
        speed.plot(timings, name, Path(plot or ".") / f"perf-{name.replace(' ', '-')}.{form}")
    slower = speed.slower(timings, earlier, tolerance) if earlier else []
    if not as_json:
        typer.echo(f"{speed.table(timings)}\n\n{speed.limits(timings.operations)}\n")
        for found in slower:
            typer.echo(f"slower: {found}")
    typer.echo(json.dumps(speed.summary(timings, slower)))
    if slower:
        raise typer.Exit(FOUND)


def _again(
    timings: speed.Timings,
    earlier: speed.Timings,
    tolerance: float,
    max_n: int,
    model: Embedder,
    keep: Path | None,
) -> speed.Timings:
    """The timings, with those that seem slower taken again: what else the machine does passes."""
    for _ in range(AGAIN):
        slower = speed.slower(timings, earlier, tolerance)
        wanted = {done_as(one.operation, one.n) for one in slower}
        found = tuple(one for timed in _told(again(wanted, max_n, model, keep)) for one in timed)
        timings = speed.better(timings, replace(timings, timed=found))
    return timings


def _told(found: Iterator[list[Timed]]) -> Iterator[list[Timed]]:
    for timed in found:
        for one in timed:
            _log.print(f"{one.operation} {one.n:,} {one.system}: {one.ratio:.2f} × limit")
        yield timed


@app.command()
def extend(
    chat: Annotated[Path, typer.Argument(help="JSON lines with `name` (Alex, Bob) and `content`.")],
    rounds: Annotated[int, typer.Option(min=1, help="Rounds the whole chat shall have.")] = 200,
    llm: Annotated[str | None, typer.Option(help="The model that writes.")] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="Of the writing model.")] = 0.7,
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 0,
) -> None:
    """Carry a chat on with a model (MemTree, A.2.3): the new turns as JSON lines."""
    said = generate.read_chat(chat)
    with closing(open_llm(llm)) as model:
        for turn in generate.extend_chat(said, rounds, model, temperature=temperature, seed=seed):
            typer.echo(json.dumps(turn.message(), ensure_ascii=False))


@app.command()
def questions(
    chat: Annotated[Path, typer.Argument(help="JSON lines with `name` (Alex, Bob) and `content`.")],
    count: Annotated[int, typer.Option(min=1, help="Questions to make.")] = 5,
    llm: Annotated[str | None, typer.Option(help="The model that asks.")] = None,
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 0,
) -> None:
    """Make questions with answers from a chat (MemTree, A.2.4), as JSON lines."""
    said = generate.read_chat(chat)
    with closing(open_llm(llm)) as model:
        for asked in generate.ask_about(said, count, model, seed=seed):
            typer.echo(json.dumps(asdict(asked), ensure_ascii=False))


def _described(one: Registered) -> dict[str, Any]:
    return {
        "title": one.title,
        "url": one.data.url,
        "licence": one.data.licence,
        "files": one.data.files,
        "sha256": dict(one.data.sha256),
    }


@contextmanager
def _progress(name: str) -> Iterator[Any]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_log, transient=True) as bar:
        line = bar.add_task(name, total=None)

        def show(done: int, known: int, doing: str) -> None:
            bar.update(line, completed=done, total=known, description=f"{name}: {doing}")

        yield show
