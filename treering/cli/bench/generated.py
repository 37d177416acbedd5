"""``treering bench extend`` and ``questions``: a model makes chats, and questions about them."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from treering.bench import generate
from treering.cli.bench.options import Seed
from treering.llm.settings import open_llm

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
