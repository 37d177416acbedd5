"""``treering-bench tree``: what the tree of summaries gives, its shape, and its speed."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.views.tree.settings import Route
from treering_bench.cli.options import (
    REPLIES,
    DataPath,
    EmbedderName,
    FigureOptions,
    PlotFolder,
    PlotForm,
    RepliesPath,
    chosen_among,
    log,
    progress_bar,
)
from treering_bench.embedding import QuestionCache
from treering_bench.kept_replies import kept_model
from treering_bench.read import read_as
from treering_bench.report import Scores, table
from treering_bench.results import read
from treering_bench.trees.breadth import breadth_table, breadths, by_policy
from treering_bench.trees.scale import HEAD as INSERT_HEAD
from treering_bench.trees.scale import cells, measure_inserts, plot_inserts
from treering_bench.trees.shape import HEAD as SHAPE_HEAD
from treering_bench.trees.shape import TEXTS, lihua_lines, tree_shapes
from treering_bench.trees.update import UpdateOptions, update_figures
from treering_bench.trees.words import (
    CORPORA,
    WAYS,
    Planting,
    WordOptions,
    word_figures,
    word_shares,
    word_table,
)

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="What the tree gives, its shape, its speed."
)

TOKEN_F1 = "token_f1"
BUDGETS = (150, 400, 1000)
_BUDGETS = ", ".join(map(str, BUDGETS))


@command(app)
def breadth(
    results: Annotated[list[Path], typer.Argument(help="Results files of `bench run`.")],
    data: DataPath,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Compare this metric; may be repeated. Default: token_f1."),
    ] = None,
    reference: Annotated[
        str, typer.Option(help="The policy others are compared with.")
    ] = "context",
) -> None:
    """Broad and narrow questions apart, from results of `bench run`; differences are paired.

    A question is broad if its evidence lies in several places, or, where none is marked, if it asks
    why or how, or for the whole.
    """
    runs = [Scores.of(*read(path)) for path in results]
    breadth_of = breadths(runs, data)
    for name in metric or [TOKEN_F1]:
        values = by_policy(runs, name)
        typer.echo(f"{breadth_table(values, breadth_of, name, reference)}\n")


@command(app)
def words(
    name: Annotated[str, typer.Argument(help=f"Whose questions: {', '.join(CORPORA)}.")],
    data: DataPath,
    figures: FigureOptions,
    way: Annotated[
        list[str] | None,
        typer.Option(help=f"One of {', '.join(WAYS)}; may be repeated. Default: all."),
    ] = None,
    budget: Annotated[
        list[int] | None,
        typer.Option(min=1, help=f"Tokens of a context; may be repeated. Default: {_BUDGETS}."),
    ] = None,
    sample: Annotated[
        int, typer.Option(min=1, help="Questions of a group of a corpus, at most.")
    ] = 100,
    only: Annotated[
        list[str] | None,
        typer.Option(help="A corpus alone, such as quality/1; may be repeated."),
    ] = None,
    summaries: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Write the summaries with this model, else none does."),
    ] = None,
    replies: RepliesPath = REPLIES,
    fragment: Annotated[
        str | None, typer.Option(help='How long fragments of text are, such as "512 tokens".')
    ] = None,
    route: Annotated[
        Route | None, typer.Option(help="What stands for a summary while the tree grows.")
    ] = None,
    summary_tokens: Annotated[
        int | None, typer.Option(min=0, help="Of a summary, at most; 0 for no limit.")
    ] = None,
    base: Annotated[float | None, typer.Option(help="The threshold θ0 of the tree.")] = None,
    rate: Annotated[float | None, typer.Option(help="How fast it grows with depth, λ.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="Show each way's paired difference from this one.")
    ] = None,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Share of the answers' words in contexts from the tree and flat search, at equal budgets."""
    [name] = chosen_among([name], tuple(CORPORA))
    ways = chosen_among(way or list(WAYS), tuple(WAYS))
    if reference is not None:
        chosen_among([reference], ways)
    planting = Planting(fragment, route, summary_tokens, base, rate)
    options = WordOptions(ways, tuple(budget or BUDGETS), sample, planting)
    corpora = read_as(name, data, CORPORA[name](data))
    chosen = (corpus for corpus in corpora if not only or corpus.name in only)
    with ExitStack() as opened, progress_bar(f"tree words {name}") as progress:
        writer = opened.enter_context(kept_model(summaries, replies)) if summaries else None
        model = QuestionCache(open_embedder(embedder))
        measured = word_shares(chosen, options, model, writer, progress)
    if not measured.shares:
        raise InputError(f"{data} holds no question of {', '.join(only or [name])}")
    settings = {
        "corpora": name,
        "only": only,
        "embedder": embedder,
        "summaries": writer and writer.model,
        **asdict(planting),
    }
    table = word_table(measured.shares, reference)
    figures.show("tree words", word_figures(measured), data, settings, table)


@command(app)
def scale(
    figures: FigureOptions,
    to: Annotated[int, typer.Option(min=1000, help="Nodes of the largest tree.")] = 1_000_000,
    dimension: Annotated[int, typer.Option(min=2, help="Of the vectors.")] = 384,
    plot: PlotFolder = None,
    form: PlotForm = "svg",
) -> None:
    """Time to insert into a tree of growing size, without embedding and model."""
    measured = []
    for figure in measure_inserts(to, dimension):
        measured.append(figure)
        log.print(" ".join(cells(figure)))
    if plot:
        plot_inserts(measured, plot / f"tree-scale.{form}")
    rows = {"figures": [asdict(figure) for figure in measured]}
    text = table(INSERT_HEAD, [cells(figure) for figure in measured])
    figures.show("tree scale", rows, settings={"dimension": dimension}, table=text)


@command(app)
def shape(
    name: Annotated[str, typer.Argument(help=f"Whose texts: {', '.join(TEXTS)}.")],
    data: DataPath,
    figures: FigureOptions,
    texts: Annotated[int, typer.Option(min=2, help="The first so many texts.")] = 1500,
    every: Annotated[int, typer.Option(min=1, help="Inserts between two settlements.")] = 20,
    content: Annotated[
        bool, typer.Option("--content", help="Also the paper's route, which is slow.")
    ] = False,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Depths, paths, merged calls and quality of trees of real texts, by θ0."""
    [name] = chosen_among([name], tuple(TEXTS))
    routes: tuple[Route, ...] = ("leaves", "content") if content else ("leaves",)
    shapes = []
    trees = tree_shapes(name, data, texts, open_embedder(embedder), routes, every)
    for grown in read_as(name, data, trees):
        shapes.append(grown)
        log.print(" ".join(grown.cells()))
    text = table(SHAPE_HEAD, [grown.cells() for grown in shapes])
    rows = {"trees": [asdict(grown) for grown in shapes]}
    figures.show("tree shape", rows, data, {"embedder": embedder, "every": every}, text)


@command(app)
def update(
    data: DataPath,
    figures: FigureOptions,
    texts: Annotated[int, typer.Option(min=2, help="Texts that are there first.")] = 1000,
    meanwhile: Annotated[
        int, typer.Option(min=4, help="Texts that come while summaries are made, at most.")
    ] = 400,
    more: Annotated[int, typer.Option(min=1, help="Texts added afterwards, one by one.")] = 20,
    seconds: Annotated[float, typer.Option(min=0.0, help="A call of the model.")] = 0.2,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """One more text: the tree against rebuilding offline as RAPTOR does (LiHua-World's lines).

    A scripted model takes its time for each call; both sides have eight calls in flight.
    """
    lines = list(dict.fromkeys(read_as("lihua-world", data, lihua_lines(data))))
    options = UpdateOptions(texts, meanwhile, more, seconds)
    measured = update_figures(lines, options, open_embedder(embedder))
    figures.show("tree update", measured, data, {"embedder": embedder, **asdict(options)})
