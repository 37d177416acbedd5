"""``treering-bench quality`` and ``learn``: evidence found, and weights learned from it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from platformdirs import user_cache_path

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering_bench.cli.options import EmbedderName, FigureOptions, chosen_among, progress_bar
from treering_bench.embedding import FileCache
from treering_bench.learn import questions, report
from treering_bench.quality import (
    FOLDERS,
    compared,
    measure,
    read_ranks,
    read_reasons,
    table,
    write_ranks,
)
from treering_bench.results import this_commit

app = typer.Typer(add_completion=False)

CACHE_FILE = "vectors.sqlite"

Folder = Annotated[Path, typer.Option("--data", help="A folder with a folder for each data set.")]
Chosen = Annotated[list[str], typer.Option("--set", help="Only this data set; may be repeated.")]
Baseline = Annotated[Path, typer.Option(help="The folder of the committed ranks and reasons.")]
CacheFolder = Annotated[
    Path | None, typer.Option(help="Where vectors stay. Default: the user's cache folder.")
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
    cache: CacheFolder = None,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Learn the weights of chats between people, and test them on tasks that were left out."""
    names = chosen_among(chosen, FOLDERS)
    file = (cache or user_cache_path("treering-quality")) / CACHE_FILE
    with closing(FileCache(open_embedder(embedder), file)) as model, progress_bar("learn") as bar:
        sets = {name: questions(name, data, model, bar) for name in names}
    figures.show("learn", report(data, sets), settings={"embedder": embedder})
