"""``treering-bench confidence``: fit how sure a hit is, and measure it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.search.confidence import MODELS, RELEVANT
from treering_bench.cli.options import EmbedderName, asked_data
from treering_bench.confidence import asked_benchmark, fit, measured

app = typer.Typer(add_completion=False)


@app.command()
def confidence(
    fitted: Annotated[
        list[str],
        typer.Option("--fit", metavar="BENCHMARK=PATH", help="Fit to this; may be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    tested: Annotated[
        list[str],
        typer.Option("--test", metavar="BENCHMARK=PATH", help="Measure on this; may be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="What is less sure is left out.")
    ] = RELEVANT,
    limit: Annotated[
        int | None, typer.Option(min=1, help="So many questions of each benchmark, drawn by 0.")
    ] = None,
    embedder: EmbedderName = EMBEDDER,
) -> None:
    """Fit `hit.confidence` on benchmarks and measure it on others; one JSON object a line.

    Each question is asked of a memory with its evidence and without. Without --fit the package's
    own model is measured.
    """
    model = open_embedder(embedder)
    asked = {
        pair: list(asked_benchmark(*asked_data(pair), model, limit))
        for pair in dict.fromkeys([*fitted, *tested])
    }
    questions = [question for pair in fitted for question in asked[pair]]
    chosen = fit(questions) if fitted else MODELS[0]
    typer.echo(json.dumps(asdict(chosen)))
    for pair in tested:
        report = measured(asked[pair], chosen, threshold)
        typer.echo(json.dumps({"benchmark": pair.partition("=")[0]} | asdict(report)))
