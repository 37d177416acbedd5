"""``treering-bench prompts``: do treering's prompts work with your model?"""

from __future__ import annotations

from contextlib import closing

import typer

from treering.cli.options import command
from treering.llm.settings import open_llm
from treering_bench.cli.options import FigureOptions, LlmSpec
from treering_bench.prompt_trials import (
    CASES,
    HELD_OUT,
    ask_cases,
    paper_prompts,
    structured_reply,
    token_estimate,
)

app = typer.Typer(add_completion=False)


@command(app)
def prompts(llm: LlmSpec, figures: FigureOptions) -> None:
    """Ask a model every prompt of treering over cases made by hand, and compare token counts.

    The cases held out were written after the prompt, which was not changed again.
    """
    with closing(open_llm(llm)) as model:
        measured = {
            "ask, tuned on": ask_cases(model, CASES),
            "ask, held out": ask_cases(model, HELD_OUT),
            "papers": paper_prompts(model),
            "structured": structured_reply(model),
            "tokens": token_estimate(model),
        }
    figures.show("prompts", measured, settings={"model": model.model})
