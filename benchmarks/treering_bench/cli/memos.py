"""``treering-bench instructions``, ``tune-rows`` and ``tuned``: how a model writes memos."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.minilm import MiniLM
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.files import replace_file
from treering.llm.contract import LLM
from treering.llm.settings import CONTEXT_WINDOW, MEMO_ADAPTER, open_llm
from treering.tune.train import refuse_places
from treering.views.choices import Wording
from treering_bench.cli.options import (
    DataPath,
    EmbedderName,
    FigureOptions,
    ModelOptions,
    Seed,
    chosen_among,
    log,
    progress_bar,
)
from treering_bench.dialogues import (
    LONG_LINE,
    apart_from,
    dialogues,
    prompt_and_reply,
    rows_in,
    separated,
)
from treering_bench.instructions import TEMPERATURE, evaluate
from treering_bench.instructions import figures as instruction_figures
from treering_bench.instructions import instructions as test_rows
from treering_bench.kept_replies import kept_model
from treering_bench.memo_tuning import TUNED, WINDOW, measure_tuning, tuned_model, tuned_table
from treering_bench.metrics.memos import bert_score
from treering_bench.read import read_as
from treering_bench.tune_rows import MOST_LINES, TASKS, RowOptions, instruction_rows

app = typer.Typer(add_completion=False)

PromptWording = Annotated[
    Wording, typer.Option(help="Of the prompt: treering's, the paper's, the paper's mended.")
]
_ENVIRONMENT = {CONTEXT_WINDOW: str(WINDOW)}


@command(app)
def instructions(
    data: DataPath,
    model: ModelOptions,
    figures: FigureOptions,
    limit: Annotated[
        int | None, typer.Option(min=1, help="The first so many rows of each stage and origin.")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="Of the model.")] = TEMPERATURE,
) -> None:
    """MemoChat's test rows by their own prompts: writing memos, choosing among them, responding."""
    rows = list(read_as("memo-instructions", data, test_rows(data, limit)))
    if not rows:
        raise InputError(f"{data} holds no row for writing, retrieval or chatting")
    similarity = bert_score(MiniLM().token_vectors)
    with model.open() as llm, progress_bar("instructions") as progress:
        scores = evaluate(rows, llm, similarity, temperature, progress)
    settings = {"model": llm.model, "temperature": temperature}
    measured = {"rows": len(rows)} | instruction_figures(scores)
    figures.show("instructions", measured, data, settings)


@command(app)
def tune_rows(
    path: Annotated[list[Path], typer.Argument(help="Files of dialogues with their topics.")],
    out: Annotated[Path, typer.Option(help="Where the rows are written.")],
    count: Annotated[int, typer.Option(min=1, help="Rows of each task.")] = 300,
    task: Annotated[
        list[str], typer.Option(help=f"One of {', '.join(TASKS)}; may be repeated. Default: all.")
    ] = list(TASKS),  # noqa: B006 - typer copies it
    wording: PromptWording = "plain",
    apart: Annotated[
        list[Path],
        typer.Option(
            help="Leave out dialogues that are in this file, such as one of test rows, or share "
            f"a line of {LONG_LINE} characters or more with it; may be repeated."
        ),
    ] = [],  # noqa: B006 - typer copies it
    rejoin: Annotated[
        bool, typer.Option(help="Cut dialogues into their topics, and join these at random.")
    ] = False,
    most_lines: Annotated[
        int, typer.Option(min=2, help="Lines of a conversation that is to be cut, at most.")
    ] = MOST_LINES,
    seed: Seed = 0,
) -> None:
    """Make rows for `treering tune memos` from dialogues: write memos, choose among them."""
    refuse_places([out], [*path, *apart])
    own = [dialogue for file in path for dialogue in dialogues(file)]
    others = [dialogue for file in apart for dialogue in dialogues(file, required=False)]
    pairs = filter(None, (prompt_and_reply(row) for file in apart for row in rows_in(file)))
    chosen = apart_from(own, [prompt for prompt, _ in pairs], others)
    options = RowOptions(
        count,
        tuple(name for name in TASKS if name in chosen_among(task, TASKS)),
        wording,
        seed,
        most_lines,
    )
    used = separated(chosen) if rejoin else chosen
    lines = [row.as_json() for row in instruction_rows(used, options)]
    replace_file(out, ("\n".join(lines) + "\n").encode(), private=True)
    figures = {
        "rows": len(lines),
        "distinct": len(set(lines)),
        "dialogues": len(used),
        "left_out": len(own) - len(chosen),
    }
    if figures["distinct"] < figures["rows"]:
        log.print("rows are repeated: give more dialogues, or a lower --count")
    typer.echo(json.dumps(figures))


@command(app)
def tuned(
    data: DataPath,
    model: ModelOptions,
    figures: FigureOptions,
    adapter: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What `treering tune memos` wrote for the model."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows of each task, at most.")] = 30,
    wording: PromptWording = "plain",
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """A model with and without its adapter, beside answers that need no model.

    The data are MemoChat's test rows. Ranges, borders and topics are those of whole conversations.
    """
    environ = {**os.environ, **_ENVIRONMENT}
    if adapter is not None:
        environ[MEMO_ADAPTER] = str(adapter)
    with ExitStack() as stack:
        llm = stack.enter_context(closing(open_llm(model.llm, environ=environ)))
        asked = {"untuned": llm} | ({TUNED: tuned_model(llm, adapter)} if adapter else {})
        models: dict[str, LLM] = {
            who: stack.enter_context(kept_model(asked_model, model.replies, model.minutes))
            for who, asked_model in asked.items()
        }
        progress = stack.enter_context(progress_bar("tuned"))
        measured = measure_tuning(data, models, open_embedder(embedder), limit, wording, progress)
        answering = models.get(TUNED, llm).model
        settings = {"model": llm.model, "tuned": answering if adapter else None, "wording": wording}
    measured_figures = measured.figures()
    text = tuned_table(measured_figures)
    figures.show("tuned", measured_figures, data, settings, table=text)
