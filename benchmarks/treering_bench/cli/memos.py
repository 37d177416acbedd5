"""``treering-bench instructions`` and ``tuned``: how a model writes and chooses memos."""

from __future__ import annotations

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
from treering.llm.contract import LLM
from treering.llm.settings import CONTEXT_WINDOW, MEMO_ADAPTER, open_llm
from treering.views.memos.write import Wording
from treering_bench.cli.options import (
    DataPath,
    EmbedderName,
    FigureOptions,
    ModelOptions,
    progress_bar,
)
from treering_bench.instructions import TEMPERATURE, evaluate
from treering_bench.instructions import figures as instruction_figures
from treering_bench.instructions import instructions as test_rows
from treering_bench.kept_replies import kept_model
from treering_bench.memo_tuning import TUNED, WINDOW, measure_tuning, tuned_model, tuned_table
from treering_bench.metrics.memos import bert_score
from treering_bench.read import read_as

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
