"""``treering-bench tree``: what trees of real texts look like, and how good they are."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.views.tree.settings import Route
from treering_bench.cli.options import DataPath, EmbedderName, FigureOptions, log
from treering_bench.read import read_as
from treering_bench.registry import Benchmark, benchmark
from treering_bench.report import table
from treering_bench.trees.shape import HEAD as SHAPE_HEAD
from treering_bench.trees.shape import tree_shapes

app = typer.Typer(add_completion=False)


@command(app)
def tree(
    name: Annotated[str, typer.Argument(help="The benchmark whose texts are taken.")],
    data: DataPath,
    figures: FigureOptions,
    texts: Annotated[int, typer.Option(min=2, help="The first so many texts.")] = 1500,
    every: Annotated[int, typer.Option(min=1, help="Inserts between two settlements.")] = 20,
    content: Annotated[
        bool, typer.Option("--content", help="Also the paper's route, which is slow.")
    ] = False,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Depths, paths, merged calls, revenue and odd-one-out of trees of real texts, by θ0."""
    chosen = benchmark(name)
    if not isinstance(chosen, Benchmark):
        raise InputError(f"{name} has no texts for a tree; take locomo or multihop-rag")
    routes: tuple[Route, ...] = ("leaves", "content") if content else ("leaves",)
    shapes = []
    trees = tree_shapes(chosen, data, texts, open_embedder(embedder), routes, every)
    for grown in read_as(name, data, trees):
        shapes.append(grown)
        log.print(" ".join(grown.cells()))
    text = table(SHAPE_HEAD, [grown.cells() for grown in shapes])
    rows = {"trees": [asdict(grown) for grown in shapes]}
    figures.show("tree", rows, data, {"embedder": embedder, "every": every}, text)
