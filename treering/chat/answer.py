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
    printed,
    read_answer,
)
from treering.llm.ask import PromptPassage as Shown
from treering.llm.contract import Message, Usage
from treering.records import Context, Passage
from treering.search.context import Budget, CountTokens
from treering.views.choices import PromptName
from treering.views.settings import SpaceSettings


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

    def room(self, question: str, budget: Budget, prompt: PromptName) -> tuple[int, CountTokens]:
        """The most that passages may have, and a count in its unit.

        The prompt then stays within ``budget``, and prompt and answer within the model's window. A
        budget in another unit than tokens is that of the passages. Raises InputError if there is
        no room for any.
        """
        llm = self._account.llm()
        if prompt == "own":
            needed = PROMPT_TOKENS + llm.count_tokens(question)
        else:
            needed = llm.count_tokens(printed(prompt, question, ""))
        left = llm.context_window - ANSWER_TOKENS - needed
        if budget.unit == "tokens":
            left = min(budget.limit - needed, left)
        if left < 1:
            raise InputError(
                f"the budget is {budget.limit} {budget.unit} and the model's window "
                f"{llm.context_window}; question and instructions need {needed}, the answer "
                f"{ANSWER_TOKENS}. Raise the budget, take a model with a larger window, or "
                "ask a shorter question"
            )
        room = Budget(left) if budget.unit == "tokens" else budget
        return room.counted(llm.count_tokens, left)

    def ask(self, context: Context, settings: SpaceSettings) -> Answer:
        """Answer the context's query from its passages. Raises LLMError."""
        if not context.passages:
            return Answer(NOT_IN_MEMORY, found=False, context=context)
        shown = [
            Shown(passage.text, passage.source, _date(passage)) for passage in context.passages
        ]
        if settings.prompt == "own":
            messages = ask_messages(context.query, shown)
        else:
            text = printed(settings.prompt, context.query, context.text)
            messages = [Message("user", text)]
        reply = self._account.llm().complete(
            messages, max_tokens=ANSWER_TOKENS, temperature=settings.temperature or 0.0
        )
        self._account.pay("ask", reply)
        if settings.prompt != "own":
            text = reply.text.strip()
            return Answer(text, context=context, usage=reply.usage, model=reply.model)
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
