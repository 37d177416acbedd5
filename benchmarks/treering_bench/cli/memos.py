"""``treering-bench memos``: how well a model writes memos, and how well they are checked."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from treering.cli.options import command
from treering.embed.minilm import MiniLM
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.llm.contract import LLM
from treering.llm.settings import CONTEXT_WINDOW, MEMO_ADAPTER, open_llm
from treering.views.memos.claims import Check
from treering.views.memos.write import Wording
from treering_bench.cli.options import (
    DataPath,
    EmbedderName,
    FigureOptions,
    ModelOptions,
    chosen_among,
    progress_bar,
)
from treering_bench.kept_replies import kept_model
from treering_bench.memo_tuning import TUNED, measure_tuning, tuned_model, tuned_table
from treering_bench.memo_writing import (
    DIALOGUES,
    WINDOW,
    check_claims,
    partition_whole,
    write_memos,
)
from treering_bench.metrics.memos import bert_score
from treering_bench.read import read_as

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="How well memos are written and checked."
)

Limit = Annotated[int, typer.Option(min=1, help="The first so many dialogues.")]
PromptWording = Annotated[
    Wording, typer.Option(help="Of the prompt: treering's, the paper's, the paper's mended.")
]
_ENVIRONMENT = {CONTEXT_WINDOW: str(WINDOW)}


@command(app)
def write(
    name: Annotated[str, typer.Argument(help=f"Whose dialogues: {', '.join(DIALOGUES)}.")],
    data: DataPath,
    model: ModelOptions,
    figures: FigureOptions,
    limit: Limit = 5,
    wording: PromptWording = "plain",
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Memos of dialogues: replies that could be used, lines left out, claims without support."""
    [name] = chosen_among([name], tuple(DIALOGUES))
    dialogues = list(islice(read_as(name, data, DIALOGUES[name](data)), limit))
    if not dialogues:
        raise InputError(f"{data} holds no dialogue of {name}")
    with model.open(_ENVIRONMENT) as llm, progress_bar("memos write") as progress:
        counts = write_memos(dialogues, llm, wording, open_embedder(embedder), progress)
    settings: dict[str, Any] = {"dialogues of": name, "model": llm.model, "wording": wording}
    figures.show("memos write", counts.figures(), data, settings, table=counts.examples())


@command(app)
def partition(
    data: DataPath,
    model: ModelOptions,
    figures: FigureOptions,
    limit: Limit = 5,
    wording: PromptWording = "plain",
) -> None:
    """Whole conversations in one call each, as the paper scores them (MemoChat's test rows)."""
    similarity = bert_score(MiniLM().token_vectors)
    with model.open(_ENVIRONMENT) as llm, progress_bar("memos partition") as progress:
        measured = partition_whole(data, llm, wording, limit, similarity, progress)
    settings = {"model": llm.model, "wording": wording}
    figures.show("memos partition", measured, data, settings)


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
        progress = stack.enter_context(progress_bar("memos tuned"))
        measured = measure_tuning(data, models, open_embedder(embedder), limit, wording, progress)
        answering = models.get(TUNED, llm).model
        settings = {"model": llm.model, "tuned": answering if adapter else None, "wording": wording}
    measured_figures = measured.figures()
    text = tuned_table(measured_figures)
    figures.show("memos tuned", measured_figures, data, settings, table=text)


@command(app)
def claims(data: DataPath, figures: FigureOptions, embedder: EmbedderName = EMBEDDER) -> None:
    """How often sentences that people wrote are called unsupported (DialogSum's development set).

    No language model is asked: what is measured is the check that every memo goes through.
    """
    measured = check_claims(data, Check(open_embedder(embedder)))
    figures.show("memos claims", measured, data, {"embedder": embedder})
