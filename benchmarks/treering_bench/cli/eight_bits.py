"""``treering-bench eight-bits``: what vectors of eight bits change of the best hits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering_bench.cli.options import EmbedderName, FigureOptions, Seed, asked_data, progress_bar
from treering_bench.eight_bits import compared, in_one
from treering_bench.read import read_as, sha256_of

app = typer.Typer(add_completion=False)


@command(app)
def eight_bits(
    named: Annotated[
        list[str],
        typer.Argument(
            metavar="BENCHMARK=PATH…",
            help="Benchmarks and their data, remembered in one space: over 20,000 fragments.",
        ),
    ],
    figures: FigureOptions,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Ask so many questions, drawn from all.")
    ] = None,
    seed: Seed = 0,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """The ten best hits with vectors of eight bits against those of floats, over real questions."""
    data = [asked_data(pair) for pair in named]
    names = [of.name for of, _ in data]
    if len(set(names)) < len(names):
        raise InputError(f"{max(names, key=names.count)} is named twice; name each benchmark once")
    with progress_bar("eight bits") as step:
        task = in_one((of.name, read_as(of.name, path, of.load(path))) for of, path in data)
        report = compared(task, open_embedder(embedder), sample, seed, step)
    settings = {
        "data": {of.name: sha256_of(path) for of, path in data},
        "sample": sample,
        "seed": seed,
        "embedder": embedder,
    }
    figures.show("eight-bits", asdict(report), settings=settings)
