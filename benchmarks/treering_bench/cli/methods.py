"""``treering-bench methods``: the four methods off and on, in one table."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.files import replace_file
from treering_bench.cli.options import (
    REPLIES,
    EmbedderName,
    RepliesPath,
    Seed,
    asked_data,
    progress_bar,
)
from treering_bench.embedding import QuestionCache
from treering_bench.kept_replies import kept_model
from treering_bench.method_table import (
    BUDGETS,
    MethodTable,
    TableOptions,
    json_lines_of,
    measure_code,
    measure_texts,
    methods_table,
)
from treering_bench.read import sha256_of
from treering_bench.results import RunHeader, this_run, with_header

app = typer.Typer(add_completion=False)

_BUDGETS = " and ".join(map(str, BUDGETS))


@command(app)
def methods(
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BENCHMARK=PATH",
            help="Questions with evidence about chats or documents, such as locomo=FOLDER; may be "
            "repeated.",
        ),
    ] = None,
    code: Annotated[
        Path | None, typer.Option(help="Also a folder with a folder for each Python project.")
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Writes memos and summaries. Without it summaries are extracted, and no memos "
            "are written.",
        ),
    ] = None,
    budget: Annotated[
        list[int] | None,
        typer.Option(min=1, help=f"Tokens shown; may be repeated. Default: {_BUDGETS}."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Questions of each, drawn.")] = 100,
    out: Annotated[
        Path | None, typer.Option(help="Also save the run and the cells, as JSON lines.")
    ] = None,
    replies: RepliesPath = REPLIES,
    seed: Seed = 0,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Relations, tree, memos and code memory, each off and on, at equal budgets, with the cost.

    Seconds are of this process's processors. They hold what a model in a file needs, but not where
    its reply was kept.
    """
    named = [asked_data(given) for given in data or []]
    if not named and code is None:
        raise InputError("nothing to measure: give --data locomo=FOLDER, or --code FOLDER")
    options = TableOptions(tuple(dict.fromkeys(budget or BUDGETS)), limit, seed)
    cells = MethodTable()
    settings = {
        "data": {chosen.name: sha256_of(path) for chosen, path in named},
        "code": sorted(folder.name for folder in code.iterdir() if folder.is_dir()) if code else [],
        "model": llm and Path(llm).stem,
        "embedder": embedder,
    }
    run = this_run("methods", "", seed, settings)
    with ExitStack() as opened:
        writer = opened.enter_context(kept_model(llm, replies)) if llm else None
        progress = opened.enter_context(progress_bar("methods"))
        model = QuestionCache(open_embedder(embedder))
        for chosen, path in named:
            measure_texts(cells, chosen, path, model, writer, options, progress)
            _save(run, cells, out)
        if code is not None:
            measure_code(cells, code, options, progress)
            _save(run, cells, out)
    typer.echo(methods_table(cells.rows()))


def _save(run: RunHeader, cells: MethodTable, out: Path | None) -> None:
    """Save the cells so far, below a line with the run: each benchmark may take hours."""
    if out is not None:
        replace_file(out, json_lines_of([with_header(run, {}), *cells.rows()]).encode())
