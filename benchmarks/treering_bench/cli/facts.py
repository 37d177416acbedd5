"""``treering-bench facts``: how well changes of facts are noticed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from treering import files
from treering.cli.options import command
from treering.llm.settings import open_llm
from treering_bench.cli.options import REPLIES, DataPath, FigureOptions, RepliesPath
from treering_bench.fact_changes import by_model, by_rules, found_in, of_statements
from treering_bench.kept_replies import KeptReplies
from treering_bench.read import read_as
from treering_bench.suites.locomo import load

app = typer.Typer(add_completion=False)


@command(app)
def facts(
    data: DataPath,
    figures: FigureOptions,
    llm: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Also let this model judge the pairs written by hand."),
    ] = None,
    replies: RepliesPath = REPLIES,
    forms: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Statements that somebody else wrote, as lines of JSON."),
    ] = None,
) -> None:
    """How well changes of facts are noticed: pairs written by hand, and false alarms in LoCoMo."""
    measured: dict[str, Any] = {
        "rules": by_rules(),
        "locomo": found_in(read_as("locomo", data, load(data))),
    }
    if forms is not None:
        measured["statements"] = of_statements(files.read_replaced(forms).split("\n"))
    if llm is not None:
        with closing(open_llm(llm)) as opened:
            model = KeptReplies(opened, replies)
            measured[model.model] = by_model(model)
    figures.show("facts", measured, data)
