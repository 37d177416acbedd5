"""``treering-bench candidates``: what PostgreSQL finds of a space too large for main memory."""

from __future__ import annotations

from typing import Annotated

import typer

from treering.cli.options import command
from treering.embed.registry import DEFAULT, open_embedder
from treering_bench.candidates import CandidateTrial
from treering_bench.cli.options import FigureOptions

app = typer.Typer(add_completion=False)


@command(app)
def candidates(
    figures: FigureOptions,
    url: Annotated[
        str,
        typer.Argument(
            help="A schema of PostgreSQL to fill: postgresql://…?schema=NAME. One that was filled "
            "so before is filled up."
        ),
    ],
    fragments: Annotated[int, typer.Option(min=1, help="Made-up turns.")] = 100_000,
    questions: Annotated[int, typer.Option(min=1, help="Questions for each filter.")] = 200,
) -> None:
    """Candidates of the database against ranking every fragment: of the ten best, how many.

    Vectors are those of real sentences by the bundled model, repeated with noise.
    """
    measured = CandidateTrial(url, fragments, questions).measure(open_embedder(DEFAULT))
    settings = {"fragments": fragments, "questions": questions}
    figures.show("candidates", measured, settings=settings)
