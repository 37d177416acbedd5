"""``treering-bench msc-e``, ``play`` and ``tune-rows``: data that is made."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from treering.files import replace_file
from treering.tune.train import refuse_places
from treering_bench import generate
from treering_bench.dialogues import (
    LONG_LINE,
    apart_from,
    dialogues,
    prompt_and_reply,
    rows_in,
    separated,
)
from treering_bench.models import kept_model
from treering_bench.options import (
    REPLIES,
    DataPath,
    MinutesLimit,
    PromptWording,
    RepliesPath,
    Seed,
    chosen_among,
    log,
)
from treering_bench.suites.mtbench_plus import played_rows
from treering_bench.tune_rows import (
    MOST_LINES,
    TASKS,
    InstructionRow,
    RowOptions,
    instruction_rows,
)

app = typer.Typer(add_completion=False)

Out = Annotated[Path, typer.Option(help="The file to write.")]
Model = Annotated[str | None, typer.Option("--llm", metavar="SPEC", help="The model that writes.")]


@app.command()
def msc_e(
    out: Annotated[Path, typer.Option(help="The folder to write, one file a chat.")],
    chat: Annotated[
        list[Path],
        typer.Option(help="JSON lines with `name` (Alex, Bob) and `content`; may be repeated."),
    ] = [generate.SEED_CHAT],  # noqa: B006 - typer copies it
    rounds: Annotated[int, typer.Option(min=3, help="Rounds of each whole chat.")] = 200,
    count: Annotated[int, typer.Option("--questions", min=1, help="Of each third.")] = 5,
    llm: Model = None,
    replies: RepliesPath = REPLIES,
    minutes: MinutesLimit = None,
    seed: Seed = 0,
) -> None:
    """Carry chats on with a model and make questions about them (MemTree, A.2.3 and A.2.4)."""
    out.mkdir(parents=True, exist_ok=True)
    with kept_model(llm, replies, minutes) as model:
        for file in chat:
            made = generate.session(generate.read_chat(file), rounds, count, model, seed=seed)
            text = json.dumps(made, ensure_ascii=False)
            (out / f"{file.stem}.json").write_text(text + "\n", encoding="utf-8")


@app.command()
def play(
    data: DataPath,
    out: Out,
    llm: Model = None,
    replies: RepliesPath = REPLIES,
    limit: Annotated[int | None, typer.Option(min=1, help="The first so many chats.")] = None,
    minutes: MinutesLimit = None,
    seed: Seed = 0,
) -> None:
    """Write MT-Bench+ with the bot's turns, which the published file leaves empty.

    Every run on the written file then measures the same words, and asks no model for them.
    """
    with kept_model(llm, replies, minutes) as model:
        rows = list(islice(played_rows(data, model, seed=seed), limit))
    out.write_text(json.dumps(rows, ensure_ascii=False) + "\n", encoding="utf-8")


@app.command()
def tune_rows(
    path: Annotated[list[Path], typer.Argument(help="Files of dialogues with their topics.")],
    out: Annotated[Path, typer.Option(help="Where the rows are written.")],
    count: Annotated[int, typer.Option(min=1, help="Rows of each task.")] = 300,
    task: Annotated[
        list[str], typer.Option(help=f"One of {', '.join(TASKS)}; may be repeated. Default: all.")
    ] = list(TASKS),  # noqa: B006 - typer copies it
    wording: PromptWording = "plain",
    apart: Annotated[
        list[Path],
        typer.Option(
            help="Leave out dialogues that are in this file, such as one of test rows, or share "
            f"a line of {LONG_LINE} characters or more with it; may be repeated."
        ),
    ] = [],  # noqa: B006 - typer copies it
    rejoin: Annotated[
        bool, typer.Option(help="Cut dialogues into their topics, and join these at random.")
    ] = False,
    most_lines: Annotated[
        int, typer.Option(min=2, help="Lines of a conversation that is to be cut, at most.")
    ] = MOST_LINES,
    also: Annotated[
        list[Path],
        typer.Option(help="Add so many rows of this file as they are; may be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    seed: Seed = 0,
) -> None:
    """Make rows for `treering tune memos` from dialogues: write memos, choose among them."""
    refuse_places([out], [*path, *apart, *also])
    own = [dialogue for file in path for dialogue in dialogues(file)]
    others = [dialogue for file in apart for dialogue in dialogues(file, required=False)]
    pairs = filter(None, (prompt_and_reply(row) for file in apart for row in rows_in(file)))
    chosen = apart_from(own, [prompt for prompt, _ in pairs], others)
    options = RowOptions(
        count,
        tuple(name for name in TASKS if name in chosen_among(task, TASKS)),
        wording,
        seed,
        most_lines,
    )
    used = separated(chosen) if rejoin else chosen
    lines = [row.as_json() for row in instruction_rows(used, options)]
    for file in also:
        chats = filter(None, map(prompt_and_reply, rows_in(file)))
        lines += [
            InstructionRow("chatting", prompt, reply).as_json()
            for prompt, reply in islice(chats, count)
        ]
    replace_file(out, ("\n".join(lines) + "\n").encode(), private=True)
    figures = {
        "rows": len(lines),
        "distinct": len(set(lines)),
        "dialogues": len(used),
        "left_out": len(own) - len(chosen),
    }
    if figures["distinct"] < figures["rows"]:
        log.print("rows are repeated: give more dialogues, or a lower --count")
    typer.echo(json.dumps(figures))
