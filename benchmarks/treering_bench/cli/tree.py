"""``treering-bench tree``: the shape and quality of trees of real texts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.views.choices import TreeRoute
from treering_bench.models import kept_model
from treering_bench.options import (
    REPLIES,
    DataPath,
    EmbedderName,
    FigureOptions,
    MinutesLimit,
    RepliesPath,
    log,
)
from treering_bench.read import read_as
from treering_bench.registry import with_texts
from treering_bench.report import table
from treering_bench.trees.shape import HEAD as SHAPE_HEAD
from treering_bench.trees.shape import tree_shapes
from treering_bench.trees.written import written_tree

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
    preset: Annotated[
        str | None, typer.Option(help="One tree in a memory of this preset instead.")
    ] = None,
    summaries: Annotated[
        str | None, typer.Option(metavar="SPEC", help="The model that writes that tree.")
    ] = None,
    replies: RepliesPath = REPLIES,
    minutes: MinutesLimit = None,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Depths, paths, calls, revenue and odd-one-out of trees of real texts, by θ0.

    With a preset or a model: the shape of one tree, and what an insert into it costs.
    """
    chosen, model = with_texts(name), open_embedder(embedder)
    settings = {"embedder": embedder, "texts": texts}
    if preset is not None or summaries is not None:
        settings |= {"preset": preset or "", "summaries": summaries or ""}
        if summaries is None:
            measured = written_tree(chosen, data, texts, model, preset, None)
        else:
            with kept_model(summaries, replies, minutes, estimating=False) as writer:
                measured = written_tree(chosen, data, texts, model, preset, writer)
        figures.show("tree", measured, data, settings)
        return
    routes: tuple[TreeRoute, ...] = ("leaves", "content") if content else ("leaves",)
    shapes = []
    for grown in read_as(name, data, tree_shapes(chosen, data, texts, model, routes, every)):
        shapes.append(grown)
        log.print(" ".join(grown.cells()))
    text = table(SHAPE_HEAD, [grown.cells() for grown in shapes])
    rows = {"trees": [asdict(grown) for grown in shapes]}
    figures.show("tree", rows, data, settings | {"every": every}, text)
