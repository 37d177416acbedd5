"""``treering bench``: measure quality, speed and cost, and repeat the published figures.

What is measured is in :mod:`treering.bench`; here are the commands. Each module is imported when
one of its commands is called, so that the help needs neither the extra nor a model.
"""

from __future__ import annotations

import typer

from treering.cli.subapps import LazyGroup, SubApp

_QUALITY = "treering.cli.bench.quality"
_GENERATED = "treering.cli.bench.generated"

COMMANDS: dict[str, SubApp] = {
    "run": SubApp(_QUALITY, "Run a benchmark; `bench data` lists them.", "run"),
    "data": SubApp(_QUALITY, "Say where a benchmark's data is to be had.", "data"),
    "report": SubApp(_QUALITY, "Render results as tables and plots, compare two runs.", "report"),
    "perf": SubApp("treering.cli.bench.perf", "Time treering against the machine's limits."),
    "chat": SubApp("treering.cli.bench.chat", "Chat policies side by side."),
    "memos": SubApp("treering.cli.bench.memos", "How well memos are written and checked."),
    "facts": SubApp("treering.cli.bench.facts", "How well changes of facts are noticed."),
    "prompts": SubApp("treering.cli.bench.prompts", "Do treering's prompts work with a model?"),
    "tree": SubApp("treering.cli.bench.tree", "What the tree gives, its shape, its speed."),
    "code": SubApp("treering.cli.bench.code", "Code: written with a model, guarded, indexed."),
    "methods": SubApp(
        "treering.cli.bench.methods", "The four methods off and on, with their cost."
    ),
    "hooks": SubApp("treering.cli.bench.hooks", "How long a hook holds a prompt."),
    "compress": SubApp("treering.cli.bench.compression", "What is left in fewer tokens."),
    "confidence": SubApp("treering.cli.bench.confidence", "How sure a hit is: fit, measure."),
    "eight-bits": SubApp("treering.cli.bench.eight_bits", "What eight bits change of the best."),
    "candidates": SubApp("treering.cli.bench.candidates", "What PostgreSQL finds of the best."),
    "postgres": SubApp("treering.cli.bench.postgres", "PostgreSQL: several servers; a file."),
    "ingest": SubApp("treering.cli.bench.ingest", "Adding and bulk ingest: texts/s, memory."),
    "server": SubApp("treering.cli.bench.server", "The server under load."),
    "page": SubApp("treering.cli.bench.page", "The page in a browser: speed, screenshots."),
    "extend": SubApp(_GENERATED, "Carry a chat on with a model.", "extend"),
    "play": SubApp(_GENERATED, "Write the bot's turns of MT-Bench+ with a model.", "play"),
    "questions": SubApp(_GENERATED, "Make questions from a chat with a model.", "questions"),
}


class Bench(LazyGroup):
    """The commands of ``treering bench``."""

    sub_apps = COMMANDS


app = typer.Typer(cls=Bench, add_completion=False, no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure quality, speed and cost; repeat the figures of docs/figures/measuring.md."""
