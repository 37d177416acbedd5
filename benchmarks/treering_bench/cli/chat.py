"""``treering-bench chat``: what each chat policy shows a model, and what that costs."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import typer

from treering.chat.registry import POLICIES
from treering.cli.options import command, option_group
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.llm.contract import LLM
from treering.llm.settings import open_llm
from treering_bench.chat_policies import (
    WITH_MEMOS,
    ChatComparison,
    needed_rounds,
    rated_replies,
)
from treering_bench.cli.options import (
    Budget,
    DataPath,
    EmbedderName,
    FigureOptions,
    ModelOptions,
    chosen_among,
    progress_bar,
)
from treering_bench.kept_replies import KeptReplies
from treering_bench.play import Conversation, conversations
from treering_bench.read import read_as

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Chat policies side by side.")

_DEFAULTS = ", ".join(name for name in POLICIES if name != WITH_MEMOS)


@option_group
@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Which policies are compared, on what, and with how much room."""

    data: DataPath
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help=f"One of {', '.join(POLICIES)}; may be repeated. The model writes memos for "
            f"{WITH_MEMOS}. Default: {_DEFAULTS}."
        ),
    ] = None
    budget: Budget = 2000
    embedder: EmbedderName = EMBEDDER

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the figures besides data and model."""
        return {"budget": self.budget, "embedder": self.embedder}

    def compared(self, llm: LLM) -> ChatComparison:
        """The comparison that is asked for."""
        named = chosen_among(self.policy or _DEFAULTS.split(", "), POLICIES)
        return ChatComparison(named, llm, open_embedder(self.embedder), self.budget)

    def conversations(self, count: int) -> list[Conversation]:
        """The first conversations of MT-Bench+."""
        chosen = list(islice(read_as("mtbench-plus", self.data, conversations(self.data)), count))
        if not chosen:
            raise InputError(f"{self.data} holds no conversation")
        return chosen


Count = Annotated[
    int, typer.Option("--conversations", min=1, help="The first so many conversations.")
]


@command(app)
def needed(
    policies: PolicyOptions, model: ModelOptions, figures: FigureOptions, count: Count = 14
) -> None:
    """Which share of the rounds that a question needs each policy shows (MT-Bench+).

    Each conversation alone, then all of them joined in one chat. The model writes the bot's turns.
    """
    chats = policies.conversations(count)
    with model.open() as llm, progress_bar("chat needed") as progress:
        measured = needed_rounds(chats, policies.compared(llm), progress)
    figures.show("chat needed", measured, policies.data, {"model": llm.model, **policies.settings})


@command(app)
def rated(
    policies: PolicyOptions,
    model: ModelOptions,
    figures: FigureOptions,
    count: Count = 14,
    judge: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="The model that rates. Default: the model itself."),
    ] = None,
) -> None:
    """A judge's rating, 1 to 100, of the replies from each policy's prompt (MT-Bench+)."""
    chats = policies.conversations(count)
    with model.open() as llm, ExitStack() as opened, progress_bar("chat rated") as progress:
        rater: LLM = llm
        if judge is not None:
            rater = KeptReplies(opened.enter_context(closing(open_llm(judge))), model.replies)
        measured = rated_replies(chats, policies.compared(llm), rater, progress)
    settings = {"model": llm.model, "judge": rater.model, **policies.settings}
    figures.show("chat rated", measured, policies.data, settings)
