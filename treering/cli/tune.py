"""``treering tune``: teach a small model to write and choose memos."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treering.cli.options import command
from treering.cli.output import counted, note
from treering.cli.run import Run
from treering.errors import InputError
from treering.tune.rows import read_rows
from treering.tune.train import MAX_TOKENS, WARM_UP, Tuned, TuneOptions, refuse_places, tune

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Teach a small model in a file to write and choose memos.",
)


@app.callback()
def group() -> None:
    """Keep ``memos`` a subcommand: typer would otherwise run a single command directly."""


@command(app)
def memos(
    run: Run,
    path: Annotated[
        list[Path], typer.Argument(help='Files of rows: JSON lines with "text" and "answer".')
    ],
    out: Annotated[Path, typer.Option(help="Where the adapter is written, a GGUF file.")],
    epochs: Annotated[int, typer.Option(min=1, help="How often each row is learned.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Rows a step.")] = 8,
    rate: Annotated[float, typer.Option(help="The highest learning rate.")] = 5e-4,
    rank: Annotated[int, typer.Option(min=1, help="The rank of the adapter.")] = 16,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Longer rows are left out; memory is used by the longest.")
    ] = MAX_TOKENS,
    warm_up: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The share of steps in which the rate rises.")
    ] = WARM_UP,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="How far it has come; a run goes on from there. Default: beside --out."),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Stop after these; run it again to go on.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads that compute.")] = None,
    seed: Annotated[int, typer.Option(help="Of the adapter and of the rows' order.")] = 0,
) -> None:
    """Train an adapter for the model that --llm names, a GGUF file; on a GPU where there is one.

    Use it by TREERING_MEMO_ADAPTER: prompts about memos are asked with it, all others without.
    """
    if not (run.llm or "").lower().endswith(".gguf"):
        raise InputError(f"the model is {run.llm!r}; give --llm FILE.gguf, which can be tuned")
    place = checkpoint or out.with_suffix(".checkpoint")
    refuse_places([out, place], path)
    rows = [row for file in path for row in read_rows(file)]
    options = TuneOptions(
        epochs=epochs,
        batch=batch,
        rate=rate,
        rank=rank,
        seed=seed,
        max_tokens=max_tokens,
        warm_up=warm_up,
        minutes=minutes,
        threads=threads,
    )
    _show(run, tune(Path(run.llm or "").expanduser(), rows, out, place, options, _report), out)


def _report(done: int, total: int, what: str) -> None:
    note(f"step {done} of {total}: {what}")


def _show(run: Run, tuned: Tuned, out: Path) -> None:
    if tuned.left_out:
        note(f"{counted(tuned.left_out, 'row', 'rows')} left out: they have too many tokens")
    if tuned.steps < tuned.of_steps:
        note("the time is up: run the same again to go on; the adapter is what was learned so far")
    figures = {
        "rows": tuned.rows,
        "left_out": tuned.left_out,
        "tokens": tuned.tokens,
        "steps": tuned.steps,
        "of_steps": tuned.of_steps,
        "loss": tuned.losses[-1] if tuned.losses else None,
        "adapter": str(out),
    }
    done = f"{tuned.steps} of {tuned.of_steps} steps over {counted(tuned.rows, 'row', 'rows')}"
    run.out.emit(figures, f"{done}; the adapter is {out}")
