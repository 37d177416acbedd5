"""``treering-bench compress``: what is left of evidence and answers in fewer tokens."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.llm.contract import ReadingLLM
from treering.llm.settings import open_llm
from treering.search.compression.contract import check_rate
from treering_bench.cli.options import DataPath, EmbedderName, FigureOptions, Seed, progress_bar
from treering_bench.compression import (
    RATES,
    CompressionOptions,
    kept_figures,
    kept_table,
    kept_words,
)
from treering_bench.embedding import QuestionCache
from treering_bench.read import read_as
from treering_bench.registry import Benchmark, benchmark
from treering_bench.task import Task

app = typer.Typer(add_completion=False)


@command(app)
def compress(
    name: Annotated[str, typer.Argument(help="A benchmark of questions with evidence.")],
    data: DataPath,
    figures: FigureOptions,
    budget: Annotated[int, typer.Option(min=1, help="Tokens before compression.")] = 1000,
    rate: Annotated[
        list[float] | None,
        typer.Option(help="The share to keep; may be repeated. Default: 0.1 to 0.9."),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Questions, drawn from all.")] = 100,
    llm: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also compress by the probabilities of this GGUF model."),
    ] = None,
    seed: Seed = 0,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Share of the words of evidence and answers in a compressed context, beside a shorter one."""
    chosen = benchmark(name)
    if not isinstance(chosen, Benchmark):
        raise InputError(f"{name} asks no questions; take locomo or fairytaleqa")
    rates = tuple(rate or RATES)
    for share in rates:
        check_rate(share)

    def tasks() -> list[Task]:
        return list(read_as(name, data, chosen.load(data)))

    options = CompressionOptions(budget, rates, sample, seed)
    with ExitStack() as opened, progress_bar(f"compress {name}") as progress:
        model = opened.enter_context(closing(open_llm(llm))) if llm else None
        if model is not None and not isinstance(model, ReadingLLM):
            raise InputError(f"{model.model} returns no probabilities of a text; name a GGUF file")
        measure = partial(kept_words, tasks, options, QuestionCache(open_embedder(embedder)))
        shares = measure(model, progress)
    settings = {"of": name, "budget": budget, "embedder": embedder, "seed": seed}
    settings["model"] = model.model if model else None
    figures.show("compress", {"kept": kept_figures(shares)}, data, settings, kept_table(shares))
