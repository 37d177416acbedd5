"""``treering-bench facts``: how well facts are read, by forms and by a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from treering.cli.options import command
from treering_bench import facts as measure
from treering_bench.cli.options import REPLIES, FigureOptions, MinutesLimit, RepliesPath
from treering_bench.kept_replies import kept_model
from treering_bench.suites.locomo import load

app = typer.Typer(add_completion=False)


@command(app)
def facts(
    figures: FigureOptions,
    sets: Annotated[Path, typer.Option(help="A folder of sets, as lines of JSON.")] = measure.SETS,
    locomo: Annotated[
        Path | None, typer.Option(help="LoCoMo's file: its speakers rarely contradict themselves.")
    ] = None,
    factcon: Annotated[
        Path | None, typer.Option(help="FactConsolidation's file: contradicting facts.")
    ] = None,
    llm: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Also let this model read a sample.")
    ] = None,
    sample: Annotated[
        int, typer.Option(min=1, help="Texts of each set, and pairs, that the model reads.")
    ] = 24,
    replies: RepliesPath = REPLIES,
    minutes: MinutesLimit = None,
) -> None:
    """Recall and precision of facts: of forms, and of a model and of both on a sample."""
    texts = measure.by_wording(sets)
    forms = measure.by_forms
    measured: dict[str, Any] = {
        "forms": measure.figures(forms, texts),
        "pairs": measure.of_pairs(forms),
    }
    if locomo is not None:
        measured["locomo"] = measure.found_in(load(locomo), forms)
    if factcon is not None:
        measured["factcon"] = measure.consolidated(factcon, forms)
    if llm is not None:
        with kept_model(llm, replies, minutes) as model:
            few, by_model = measure.drawn(texts, sample), measure.by_model(model)
            both = measure.by_both(forms, by_model)
            for name, read in (("forms", forms), (model.model, by_model), ("both", both)):
                measured[f"{name}, sample"] = measure.figures(read, few)
            if factcon is not None:
                found = measure.consolidated(factcon, by_model, sample)
                measured[f"factcon, {model.model}"] = found
    figures.show("facts", measured, sets)
