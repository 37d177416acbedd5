"""``treering-bench extend``, ``play``, ``questions``: a model makes chats and questions."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from treering.llm.settings import open_llm
from treering_bench import generate
from treering_bench.cli.options import REPLIES, DataPath, MinutesLimit, RepliesPath, Seed
from treering_bench.kept_replies import kept_model
from treering_bench.play import played_rows

app = typer.Typer(add_completion=False)

Chat = Annotated[Path, typer.Argument(help="JSON lines with `name` (Alex, Bob) and `content`.")]


@app.command()
def extend(
    chat: Chat,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds the whole chat shall have.")] = 200,
    llm: Annotated[str | None, typer.Option(help="The model that writes.")] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="Of the writing model.")] = 0.7,
    seed: Seed = 0,
) -> None:
    """Carry a chat on with a model (MemTree, A.2.3): the new turns as JSON lines."""
    turns = generate.read_chat(chat)
    with closing(open_llm(llm)) as model:
        for turn in generate.extend_chat(turns, rounds, model, temperature=temperature, seed=seed):
            typer.echo(json.dumps(turn.message(), ensure_ascii=False))


@app.command()
def play(
    data: DataPath,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    llm: Annotated[str | None, typer.Option(help="The model that plays the bot.")] = None,
    replies: RepliesPath = REPLIES,
    minutes: MinutesLimit = None,
    seed: Seed = 0,
) -> None:
    """Write MT-Bench+ with the bot's turns, which the published file leaves empty.

    Every run on the written file then measures the same words, and asks no model for them.
    """
    with kept_model(llm, replies, minutes) as model:
        rows = list(played_rows(data, model, seed=seed))
    out.write_text(json.dumps(rows, ensure_ascii=False) + "\n", encoding="utf-8")


@app.command()
def questions(
    chat: Chat,
    count: Annotated[int, typer.Option(min=1, help="Questions to make.")] = 5,
    llm: Annotated[str | None, typer.Option(help="The model that asks.")] = None,
    seed: Seed = 0,
) -> None:
    """Make questions with answers from a chat (MemTree, A.2.4), as JSON lines."""
    turns = generate.read_chat(chat)
    with closing(open_llm(llm)) as model:
        for question in generate.ask_about(turns, count, model, seed=seed):
            typer.echo(json.dumps(asdict(question), ensure_ascii=False))
