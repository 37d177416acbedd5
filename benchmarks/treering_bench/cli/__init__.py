"""The commands of ``treering-bench``. A module is imported when one of its commands is called."""

from __future__ import annotations

from typing import Any

import typer

from treering.cli.failures import report_errors
from treering.cli.output import use_utf8
from treering.cli.subapps import LazyGroup, SubApp

_RUNS = "treering_bench.cli.runs"
_LEDGER = "treering_bench.cli.ledger"
_MADE = "treering_bench.cli.made"

COMMANDS: dict[str, SubApp] = {
    "run": SubApp(_RUNS, "Run a benchmark; `data` lists them.", "run"),
    "paper": SubApp("treering_bench.cli.paper", "Repeat an experiment of a paper."),
    "data": SubApp(_RUNS, "Say where a benchmark's data is to be had.", "data"),
    "report": SubApp(_RUNS, "Render results as tables, compare two runs.", "report"),
    "quality": SubApp(_LEDGER, "Fail if searches find less evidence than before.", "quality"),
    "learn": SubApp(_LEDGER, "Learn weights from questions with evidence.", "learn"),
    "perf": SubApp("treering_bench.cli.perf", "Time treering against the machine's limits."),
    "tree": SubApp("treering_bench.cli.tree", "Shape and quality of trees of real texts."),
    "forgetting": SubApp(_LEDGER, "Is a change that undoes a requirement noticed?", "forgetting"),
    "facts": SubApp(_LEDGER, "How well facts, and changes of facts, are read.", "facts"),
    "msc-e": SubApp(_MADE, "Carry chats on with a model, and make questions.", "msc-e"),
    "play": SubApp(_MADE, "Write the bot's turns of MT-Bench+ with a model.", "play"),
    "tune-rows": SubApp(_MADE, "Make rows for tuning from dialogues.", "tune-rows"),
}


class Bench(LazyGroup):
    """The commands of ``treering-bench``. Errors end with the exit codes of ``treering``."""

    sub_apps = COMMANDS

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run a command."""
        with report_errors():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Bench,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,  # it would print local variables: keys and remembered text
)


@app.callback()
def bench() -> None:
    """Measure quality, speed and cost of treering; repeat the figures of docs/figures.md."""
    use_utf8()
