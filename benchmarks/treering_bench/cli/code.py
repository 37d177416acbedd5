"""``treering-bench code``: code that a model writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treering.cli.options import command
from treering.errors import InputError
from treering_bench.cli.options import (
    DataPath,
    FigureOptions,
    ModelOptions,
    Seed,
    chosen_among,
    progress_bar,
)
from treering_bench.coding import completion_trial as completing
from treering_bench.coding import sessions as playing
from treering_bench.coding.line_tasks import TaskLevel, drawn_tasks
from treering_bench.coding.sources import Projects
from treering_bench.forgetting import replay
from treering_bench.read import only_file, read_as

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Code that a model writes.")

SourcesPath = Annotated[Path, typer.Option("--sources", help="A folder with a folder a project.")]


@command(app)
def completion(
    sources: SourcesPath,
    model: ModelOptions,
    figures: FigureOptions,
    data: Annotated[
        Path | None, typer.Option("--data", help="RepoEval's file of functions, for bodies.")
    ] = None,
    level: Annotated[
        TaskLevel,
        typer.Option(help="Bodies of RepoEval, or lines or API calls drawn from the sources."),
    ] = "body",
    way: Annotated[
        list[str] | None,
        typer.Option(
            help="file, bm25, relation, and with +second (RepoCoder's second step) or +oracle; "
            "may be repeated. Default: the first three."
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="A base model goes on by llama.cpp's /completion: --llm URL."),
    ] = False,
    tasks: Annotated[int, typer.Option(min=1, help="So many tasks.")] = 12,
    budget: Annotated[int, typer.Option(min=1, help="Tokens of a prompt.")] = 1024,
    seed: Seed = 0,
) -> None:
    """RepoEval: does what is retrieved help a model to write the code that stood there?"""
    ways = chosen_among(way or [*completing.DEFAULT_WAYS], completing.WAYS)
    if (level == "body") != (data is not None):
        raise InputError("bodies are of RepoEval's file: --data goes with --level body, and only")
    if data is not None:
        drawn = list(read_as("repoeval", data, completing.sample(data, sources, tasks)))
    else:
        drawn = drawn_tasks(sources, level, tasks, seed)
    opened = model.continuing() if raw else model.open(estimating=False)
    with opened as llm, progress_bar("code completion") as progress:
        how = completing.CompletionSetup(llm, budget, ways, level, raw)
        projects = Projects(sources, "windows", None)
        scores = completing.measure(drawn, projects, how, progress)
    if not scores:
        raise InputError(f"{data} holds no task whose code is in {sources}, or the time was up")
    settings = {"model": llm.model, "budget": budget, "level": level, "raw": raw, "seed": seed}
    figures.show("code completion", completing.figures(scores), data, settings)


@command(app)
def sessions(
    data: DataPath,
    sources: SourcesPath,
    model: ModelOptions,
    figures: FigureOptions,
    dialogues: Annotated[int, typer.Option(min=1, help="The first so many that can be run.")] = 3,
    rounds: Annotated[int, typer.Option(min=1, help="The first so many rounds of each.")] = 5,
    way: Annotated[
        list[str] | None,
        typer.Option(
            help="full, memory, codemem (as printed), and without a part of it codemem-ctxmem, "
            "codemem-ctxast, codemem-sessast; may be repeated. Default: the first two."
        ),
    ] = None,
    feedback: Annotated[
        bool,
        typer.Option(
            "--feedback",
            help="As CoderEval is played: one task, and after each round that fails its tests "
            "the sentence that it is incorrect.",
        ),
    ] = False,
    site: Annotated[
        list[Path] | None,
        typer.Option(help="A folder with what a project needs; may be repeated."),
    ] = None,
) -> None:
    """CodeIF-Bench L-2: a model that sees the whole conversation, against code memory.

    After every round the unit tests of all instructions so far are run, in a process of their own
    without network.
    """
    ways = chosen_among(way or [*playing.DEFAULT_WAYS], playing.WAYS)
    place = playing.ProjectSources(sources, tuple(site or ()))
    published = list(read_as("codeif-bench", data, playing.dialogues(data, sources)))
    ready = [usable for dialogue in published if (usable := playing.usable(place, dialogue))]
    with model.open(estimating=False) as llm, progress_bar("code sessions") as progress:
        measured = playing.session_figures(
            place, ready[:dialogues], llm, rounds, progress, ways, feedback=feedback
        )
    counts = {"found": len(published), "usable": len(ready)}
    figures.show(
        "code sessions",
        counts | measured,
        data,
        {"model": llm.model, "rounds": rounds, "feedback": feedback},
    )


@command(app)
def forgetting(
    data: DataPath,
    figures: FigureOptions,
    limit: Annotated[int | None, typer.Option(min=1, help="The first so many dialogues.")] = None,
) -> None:
    """Recorded dialogues: is a change that undoes an earlier requirement noticed? (JSON lines)"""
    measured = replay(only_file(data, "*.jsonl"), limit)
    figures.show("code forgetting", measured, data)
