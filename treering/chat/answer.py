"""Answers from a memory: the prompt is I/O-free, the model is called here and paid for."""

from __future__ import annotations

from dataclasses import dataclass, field

from treering.chat.policy import Evidence
from treering.errors import InputError
from treering.llm.account import ModelAccount
from treering.llm.ask import (
    ANSWER_TOKENS,
    NOT_IN_MEMORY,
    PROMPT_TOKENS,
    ask_messages,
    read_answer,
)
from treering.llm.ask import PromptPassage as Shown
from treering.llm.contract import Usage
from treering.records import Context, Passage


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, what it was shown, and what it cost.

    ``found`` is false when it says that the memory does not hold the answer. ``dangling`` are
    numbers it cites that no passage has: a sign that the answer was made up. ``citations`` and
    ``context`` are those of an answer from the memory; ``evidences`` are what a chat showed of it
    beside the recent dialogue, each with the ids of the entries it stands for.
    """

    text: str
    citations: tuple[Passage, ...] = ()
    dangling: tuple[int, ...] = ()
    found: bool = True
    context: Context | None = None
    evidences: tuple[Evidence, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""

    def __str__(self) -> str:
        return self.text


class Answerer:
    """Asks the configured model about a context."""

    def __init__(self, account: ModelAccount) -> None:
        self._account = account

    def room(self, question: str, budget: int) -> int:
        """Tokens that passages may have so that the prompt stays within ``budget``, and prompt and
        answer within the model's window.

        Raises InputError if there is no room for any.
        """
        llm = self._account.llm()
        needed = PROMPT_TOKENS + llm.count_tokens(question)
        room = min(budget, llm.context_window - ANSWER_TOKENS) - needed
        if room < 1:
            raise InputError(
                f"the budget is {budget} tokens and the model's window {llm.context_window}; "
                f"question and instructions need {needed}, the answer {ANSWER_TOKENS}. "
                "Raise the budget, take a model with a larger window, or ask a shorter question"
            )
        return room

    def ask(self, context: Context) -> Answer:
        """Answer the context's query from its passages. Raises LLMError."""
        if not context.passages:
            return Answer(NOT_IN_MEMORY, found=False, context=context)
        shown = [
            Shown(passage.text, passage.source, _date(passage)) for passage in context.passages
        ]
        reply = self._account.llm().complete(
            ask_messages(context.query, shown), max_tokens=ANSWER_TOKENS, temperature=0.0
        )
        self._account.pay("ask", reply)
        read = read_answer(reply, len(shown))
        return Answer(
            text=read.text,
            citations=tuple(context.passages[number - 1] for number in read.citations),
            dangling=read.dangling,
            found=read.found,
            context=context,
            usage=reply.usage,
            model=reply.model,
        )


def _date(passage: Passage) -> str:
    return f"{passage.at:%Y-%m-%d}" if passage.at else ""
