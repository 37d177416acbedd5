"""The commands of ``treering-bench``. A module is imported when one of its commands is called."""

from __future__ import annotations

from typing import Any

import typer

from treering.cli.failures import reported
from treering.cli.output import use_utf8
from treering.cli.subapps import LazyGroup, SubApp

_QUALITY = "treering_bench.cli.quality"
_LEDGER = "treering_bench.cli.ledger"
_MEMOS = "treering_bench.cli.memos"
_GENERATED = "treering_bench.cli.generated"

COMMANDS: dict[str, SubApp] = {
    "run": SubApp(_QUALITY, "Run a benchmark; `data` lists them.", "run"),
    "data": SubApp(_QUALITY, "Say where a benchmark's data is to be had.", "data"),
    "report": SubApp(_QUALITY, "Render results as tables, compare two runs.", "report"),
    "quality": SubApp(_LEDGER, "Fail if searches find less evidence than before.", "quality"),
    "learn": SubApp(_LEDGER, "Learn weights from questions with evidence.", "learn"),
    "perf": SubApp("treering_bench.cli.perf", "Time treering against the machine's limits."),
    "chat": SubApp("treering_bench.cli.chat", "Chat policies side by side."),
    "code": SubApp("treering_bench.cli.code", "Code that a model writes."),
    "tree": SubApp("treering_bench.cli.tree", "Shape and quality of trees of real texts."),
    "instructions": SubApp(_MEMOS, "Memos by MemoChat's own prompts.", "instructions"),
    "tune-rows": SubApp(_MEMOS, "Make rows for tuning from dialogues.", "tune-rows"),
    "tuned": SubApp(_MEMOS, "A model before and after tuning for memos.", "tuned"),
    "facts": SubApp("treering_bench.cli.facts", "How well changes of facts are noticed."),
    "extend": SubApp(_GENERATED, "Carry a chat on with a model.", "extend"),
    "play": SubApp(_GENERATED, "Write the bot's turns of MT-Bench+ with a model.", "play"),
    "questions": SubApp(_GENERATED, "Make questions from a chat with a model.", "questions"),
}


class Bench(LazyGroup):
    """The commands of ``treering-bench``. Errors end with the exit codes of ``treering``."""

    sub_apps = COMMANDS

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run a command."""
        with reported():
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
