"""The commands of ``treering-bench``. A module is imported when one of its commands is called."""

from __future__ import annotations

from typing import Any

import typer

from treering.cli.failures import reported
from treering.cli.output import use_utf8
from treering.cli.subapps import LazyGroup, SubApp

_QUALITY = "treering_bench.cli.quality"
_LEDGER = "treering_bench.cli.ledger"
_GENERATED = "treering_bench.cli.generated"

COMMANDS: dict[str, SubApp] = {
    "run": SubApp(_QUALITY, "Run a benchmark; `bench data` lists them.", "run"),
    "data": SubApp(_QUALITY, "Say where a benchmark's data is to be had.", "data"),
    "report": SubApp(_QUALITY, "Render results as tables and plots, compare two runs.", "report"),
    "quality": SubApp(_LEDGER, "Fail if searches find less evidence than before."),
    "perf": SubApp("treering_bench.cli.perf", "Time treering against the machine's limits."),
    "chat": SubApp("treering_bench.cli.chat", "Chat policies side by side."),
    "memos": SubApp("treering_bench.cli.memos", "How well memos are written and checked."),
    "facts": SubApp("treering_bench.cli.facts", "How well changes of facts are noticed."),
    "prompts": SubApp("treering_bench.cli.prompts", "Do treering's prompts work with a model?"),
    "tree": SubApp("treering_bench.cli.tree", "What the tree gives, its shape, its speed."),
    "code": SubApp("treering_bench.cli.code", "Code: written with a model, guarded, indexed."),
    "methods": SubApp(
        "treering_bench.cli.methods", "The four methods off and on, with their cost."
    ),
    "hooks": SubApp("treering_bench.cli.hooks", "How long a hook holds a prompt."),
    "compress": SubApp("treering_bench.cli.compression", "What is left in fewer tokens."),
    "confidence": SubApp("treering_bench.cli.confidence", "How sure a hit is: fit, measure."),
    "eight-bits": SubApp("treering_bench.cli.eight_bits", "What eight bits change of the best."),
    "candidates": SubApp("treering_bench.cli.candidates", "What PostgreSQL finds of the best."),
    "postgres": SubApp("treering_bench.cli.postgres", "PostgreSQL: several servers; a file."),
    "ingest": SubApp("treering_bench.cli.ingest", "Adding and bulk ingest: texts/s, memory."),
    "server": SubApp("treering_bench.cli.server", "The server under load."),
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
    """Measure quality, speed and cost of treering; repeat the figures of docs/figures."""
    use_utf8()
