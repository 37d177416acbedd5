"""``treering tune``: teach a small model to write and choose memos."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from treering.cli.options import command, option_group
from treering.cli.output import note, plural
from treering.cli.run import Run
from treering.cli.subapps import sub_app
from treering.errors import InputError
from treering.tune.train import TuneOptions, read_rows, refuse_places, tune

app = sub_app(no_args_is_help=True, help="Teach a small model in a file to write and choose memos.")


@app.callback()
def group() -> None:
    """Keep ``memos`` a subcommand: typer would otherwise run a single command directly."""


option_group(
    TuneOptions,
    epochs="Passes over the rows.",
    batch="Rows a step.",
    rate="The highest learning rate.",
    rank="The rank of the adapter.",
    seed="Of the adapter and of the rows' order.",
    max_tokens="Skip rows longer than this. The longest row sets the memory needed.",
    warm_up="The share of steps in which the rate rises.",
    save_every="Steps between two checkpoints.",
    minutes="Stop after this many minutes. Run the command again to continue.",
    threads="Threads that compute.",
)


@command(
    app,
    path='Files of rows: JSON lines with "text" and "answer".',
    out="Where the adapter is written, a GGUF file.",
    checkpoint="The file with the progress; a run continues from it. Default: beside --out.",
)
def memos(
    run: Run,
    path: list[Path],
    out: Annotated[Path, typer.Option()],
    options: TuneOptions,
    checkpoint: Path | None = None,
) -> None:
    """Train an adapter for the model that --llm names, a GGUF file; on a GPU where there is one.

    Use it by TREERING_MEMO_ADAPTER: prompts about memos are asked with it, all others without.
    """
    if not (run.llm or "").lower().endswith(".gguf"):
        raise InputError(f"the model is {run.llm!r}; give --llm FILE.gguf, which can be tuned")
    place = checkpoint or out.with_suffix(".checkpoint")
    refuse_places([out, place], path)
    rows = [row for file in path for row in read_rows(file)]
    tuned = tune(Path(run.llm or "").expanduser(), rows, out, place, options, _report)
    if tuned.left_out:
        note(f"{plural(tuned.left_out, 'row', 'rows')} left out: they have too many tokens")
    if tuned.steps < tuned.of_steps:
        note("the time is up: run the same again to continue; the adapter has what was learned")
    done = f"{tuned.steps} of {tuned.of_steps} steps over {plural(tuned.rows, 'row', 'rows')}"
    figures = asdict(tuned) | {"loss": tuned.losses[-1] if tuned.losses else None}
    del figures["losses"]
    run.out.emit(figures | {"adapter": str(out)}, f"{done}; the adapter is {out}")


def _report(done: int, total: int, what: str) -> None:
    note(f"step {done} of {total}: {what}")
