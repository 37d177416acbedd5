"""``treering tune``: teach a small model to write and choose memos."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from treering.cli.options import command
from treering.cli.output import counted, note
from treering.cli.run import Run
from treering.errors import InputError
from treering.files import replace_file
from treering.tune.dialogues import (
    LONG_LINE,
    apart_from,
    dialogues,
    is_instruction,
    prompt_and_reply,
    rows_of,
    separated,
)
from treering.tune.rows import MOST_LINES, TASKS, RowOptions, Task, instruction_rows
from treering.tune.train import MAX_TOKENS, Tuned, TuneOptions, refuse_places, tune
from treering.views.memos.write import Wording

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Teach a small model in a file to write and choose memos.",
)

_TASKS = ", ".join(TASKS)


@command(app)
def rows(
    run: Run,
    path: Annotated[list[Path], typer.Argument(help="Files of dialogues with their topics.")],
    out: Annotated[Path, typer.Option(help="Where the rows are written.")],
    count: Annotated[int, typer.Option(min=1, help="Rows of each task.")] = 300,
    task: Annotated[
        list[str] | None, typer.Option(help=f"One of {_TASKS}; may be repeated. Default: all.")
    ] = None,
    wording: Annotated[
        Wording, typer.Option(help="Of the prompt for writing: treering's, or the paper's.")
    ] = "plain",
    apart: Annotated[
        list[Path] | None,
        typer.Option(
            help="Leave out dialogues that are in this file, such as one of test rows, or share "
            f"a line of {LONG_LINE} characters or more with it; may be repeated."
        ),
    ] = None,
    rejoin: Annotated[
        bool, typer.Option(help="Take dialogues apart at their borders and join them anew.")
    ] = False,
    most_lines: Annotated[
        int, typer.Option(min=2, help="Lines of a conversation that is to be cut, at most.")
    ] = MOST_LINES,
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 0,
) -> None:
    """Make instruction rows of dialogues: write memos, choose among them."""
    refuse_places([out], [*path, *(apart or [])])
    all_dialogues = [dialogue for file in path for dialogue in dialogues(file)]
    others = [dialogue for file in apart or [] for dialogue in dialogues(file, required=False)]
    prompts = [prompt for file in apart or [] for prompt in _prompts(file)]
    chosen = apart_from(all_dialogues, prompts, others)
    left_out = len(all_dialogues) - len(chosen)
    if apart:
        note(
            f"{counted(left_out, 'dialogue', 'dialogues')} left out by --apart: equal to others, "
            f"or with a line of {LONG_LINE} characters or more in common"
        )
    if rejoin:
        chosen = separated(chosen)
    options = RowOptions(count, _tasks(task or TASKS), wording, seed, most_lines)
    lines = [row.as_json() for row in instruction_rows(chosen, options)]
    replace_file(out, ("\n".join(lines) + "\n").encode(), private=True)
    distinct = len(set(lines))
    figures = {
        "rows": len(lines),
        "distinct": distinct,
        "dialogues": len(chosen),
        "left_out": left_out,
    }
    repeated = "" if distinct == len(lines) else f", {distinct} of them distinct,"
    run.out.emit(figures, f"{counted(len(lines), 'row', 'rows')}{repeated} in {out}")
    if repeated:
        note("rows are repeated: give more dialogues, or a lower --count")


@command(app)
def memos(
    run: Run,
    path: Annotated[list[Path], typer.Argument(help="Files of rows: `treering tune rows`.")],
    out: Annotated[Path, typer.Option(help="Where the adapter is written, a GGUF file.")],
    task: Annotated[
        list[str] | None,
        typer.Option(help="Rows of this task alone; may be repeated. Default: all."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="How often each row is learned.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Rows a step.")] = 8,
    rate: Annotated[float, typer.Option(help="The highest learning rate.")] = 5e-4,
    rank: Annotated[int, typer.Option(min=1, help="The rank of the adapter.")] = 16,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Longer rows are left out; memory is used by the longest.")
    ] = MAX_TOKENS,
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
    if run.llm is None:
        raise InputError("no model is named; give --llm FILE.gguf, which can be tuned")
    if not run.llm.lower().endswith(".gguf"):
        raise InputError(f"the model is {run.llm!r}; give --llm FILE.gguf, which can be tuned")
    tasks = _tasks(task or TASKS)
    place = checkpoint or out.with_suffix(".checkpoint")
    refuse_places([out, place], path)
    learned = [prompt_and_reply(row) for file in path for row in _chosen(file, tasks)]
    options = TuneOptions(
        epochs=epochs,
        batch=batch,
        rate=rate,
        rank=rank,
        seed=seed,
        max_tokens=max_tokens,
        minutes=minutes,
        threads=threads,
    )
    tuned = tune(Path(run.llm).expanduser(), learned, out, place, options, _tell)
    _show(run, tuned, out)


def _tasks(names: Sequence[str]) -> tuple[Task, ...]:
    """The tasks of these names. Raises InputError."""
    strange = [name for name in names if name not in TASKS]
    if strange:
        raise InputError(f"no task is called {strange[0]!r}; there are {_TASKS}")
    return tuple(task for task in TASKS if task in names)


def _prompts(file: Path) -> list[str]:
    """What the instruction rows of a file ask."""
    return [prompt_and_reply(row)[0] for row in rows_of(file) if is_instruction(row)]


def _chosen(file: Path, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
    """The rows of these tasks. Raises InputError for a file that has none."""
    rows = [row for row in rows_of(file) if is_instruction(row)]
    chosen = [row for row in rows if str(row["type"]).startswith(tuple(tasks))]
    if not chosen:
        raise InputError(
            f"{file} holds {len(rows)} instruction rows, none of {' or '.join(tasks)}; "
            "`treering tune rows` makes some"
        )
    yield from chosen


def _tell(done: int, total: int, what: str) -> None:
    note(f"step {done} of {total}: {what}")


def _show(run: Run, tuned: Tuned, out: Path) -> None:
    if tuned.left_out:
        note(f"{counted(tuned.left_out, 'row', 'rows')} left out: they have too many tokens")
    if tuned.steps < tuned.of_steps:
        note("the time is up: run the same again to go on; the adapter is what was learned so far")
    loss = tuned.losses[-1] if tuned.losses else None
    figures = {
        "rows": tuned.rows,
        "left_out": tuned.left_out,
        "tokens": tuned.tokens,
        "steps": tuned.steps,
        "of_steps": tuned.of_steps,
        "loss": loss,
        "adapter": str(out),
    }
    done = f"{tuned.steps} of {tuned.of_steps} steps over {counted(tuned.rows, 'row', 'rows')}"
    run.out.emit(figures, f"{done}; the adapter is {out}")
