"""``treering-bench quality``, ``learn``, ``forgetting`` and ``facts``: evidence, edits, facts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from platformdirs import user_cache_path

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering_bench import facts as fact_sets
from treering_bench.embedding import FileCache
from treering_bench.forgetting import replay
from treering_bench.learn import questions, report, ship
from treering_bench.models import kept_model
from treering_bench.options import (
    REPLIES,
    DataPath,
    EmbedderName,
    FigureOptions,
    MinutesLimit,
    RepliesPath,
    chosen_among,
    progress_bar,
)
from treering_bench.quality import (
    FOLDERS,
    compared,
    measure,
    read_ranks,
    read_reasons,
    table,
    write_ranks,
)
from treering_bench.read import only_file
from treering_bench.results import this_commit
from treering_bench.suites.locomo import load

app = typer.Typer(add_completion=False)

CACHE_FILE = "vectors.sqlite"

Folder = Annotated[Path, typer.Option("--data", help="A folder with a folder for each data set.")]
Chosen = Annotated[list[str], typer.Option("--set", help="Only this data set; may be repeated.")]
Baseline = Annotated[Path, typer.Option(help="The folder of the committed ranks and reasons.")]
CacheFolder = Annotated[
    Path | None, typer.Option(help="Where vectors stay. Default: the user's cache folder.")
]
Chats = Annotated[
    Literal["people", "assistant"], typer.Option(help="Chats between people, or with an assistant.")
]
ShipTo = Annotated[
    Path | None, typer.Option("--ship", help="Also write the weights to the package's file.")
]
Save = Annotated[bool, typer.Option("--save", help="Replace the committed ranks by these.")]


@app.command()
def quality(
    data: Folder,
    chosen: Chosen = [],  # noqa: B006 - typer copies it
    against: Baseline = Path("benchmarks/results/quality"),
    cache: CacheFolder = None,
    save: Save = False,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Measure how well searches find evidence, and fail where they got worse without a reason."""
    names = chosen_among(chosen, FOLDERS) or tuple(
        name for name, folder in FOLDERS.items() if (data / folder).is_dir()
    )
    if not names:
        raise InputError(f"{data} has none of the folders {', '.join(FOLDERS.values())}")
    if not against.is_dir():
        raise InputError(f"{against} is not a folder; run this in a checkout, or name --against")
    before, reasons = read_ranks(against), read_reasons(against)
    file = (cache or user_cache_path("treering-quality")) / CACHE_FILE
    now = {}
    with closing(FileCache(open_embedder(embedder), file)) as model, progress_bar("quality") as bar:
        for name in names:
            now[name] = measure(name, data, model, bar)
    sets = [
        compared(name, ranks, before.get(name, {}), reasons.get(name, ""))
        for name, ranks in now.items()
    ]
    typer.echo(table(sets))
    if save:
        write_ranks(against, now, this_commit())
    elif any(row.fails for row in sets):
        raise typer.Exit(1)


@command(app)
def learn(
    data: Folder,
    figures: FigureOptions,
    chosen: Chosen = ["locomo", "lihua-world"],  # noqa: B006 - typer copies it
    chats: Chats = "people",
    cache: CacheFolder = None,
    embedder: EmbedderName = EMBEDDER,
    ship_to: ShipTo = None,
) -> None:
    """Learn the weights of chats, and test them on tasks that were left out."""
    names = chosen_among(chosen, FOLDERS)
    file = (cache or user_cache_path("treering-quality")) / CACHE_FILE
    with closing(FileCache(open_embedder(embedder), file)) as model, progress_bar("learn") as bar:
        sets = {name: questions(name, chats, data, model, bar) for name in names}
    learned = report(chats, data, sets)
    if ship_to:
        ship(ship_to, learned)
    figures.show("learn", learned, settings={"embedder": embedder})


@command(app)
def forgetting(
    data: DataPath,
    figures: FigureOptions,
    limit: Annotated[int | None, typer.Option(min=1, help="The first so many dialogues.")] = None,
) -> None:
    """Recorded dialogues: is a change that undoes an earlier requirement noticed? (JSON lines)"""
    figures.show("forgetting", replay(only_file(data, "*.jsonl"), limit), data)


@command(app)
def facts(
    figures: FigureOptions,
    sets: Annotated[
        Path, typer.Option(help="A folder of sets, as lines of JSON.")
    ] = fact_sets.SETS,
    locomo: Annotated[
        Path | None, typer.Option(help="LoCoMo's file: its speakers rarely contradict themselves.")
    ] = None,
    factcon: Annotated[
        Path | None, typer.Option(help="FactConsolidation's file: contradicting facts.")
    ] = None,
    llm: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Also let this model read a sample.")
    ] = None,
    sample: Annotated[
        int, typer.Option(min=1, help="Texts of each set, and pairs, that the model reads.")
    ] = 24,
    replies: RepliesPath = REPLIES,
    minutes: MinutesLimit = None,
) -> None:
    """Recall and precision of facts: of forms, and of a model and of both on a sample."""
    texts = fact_sets.by_wording(sets)
    forms = fact_sets.by_forms
    measured: dict[str, Any] = {
        "forms": fact_sets.figures(forms, texts),
        "pairs": fact_sets.of_pairs(forms),
    }
    if locomo is not None:
        measured["locomo"] = fact_sets.found_in(load(locomo), forms)
    if factcon is not None:
        measured["factcon"] = fact_sets.consolidated(factcon, forms)
    if llm is not None:
        with kept_model(llm, replies, minutes) as model:
            few, by_model = fact_sets.drawn(texts, sample), fact_sets.by_model(model)
            both = fact_sets.by_both(forms, by_model)
            for name, read in (("forms", forms), (model.model, by_model), ("both", both)):
                measured[f"{name}, sample"] = fact_sets.figures(read, few)
            if factcon is not None:
                found = fact_sets.consolidated(factcon, by_model, sample)
                measured[f"factcon, {model.model}"] = found
    figures.show("facts", measured, sets)
