"""Answers from a memory: the prompt is I/O-free, the model is called here and paid for."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from treering.chat.policy import Evidence
from treering.errors import InputError
from treering.journal import ledger
from treering.journal.space import Space
from treering.llm.ask import (
    ANSWER_TOKENS,
    NOT_IN_MEMORY,
    PROMPT_TOKENS,
    ask_messages,
    read_answer,
)
from treering.llm.ask import Passage as Shown
from treering.llm.contract import LLM, Reply, Usage
from treering.llm.settings import is_configured, open_llm
from treering.records import Context, Passage, Spent


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
    """Asks the configured model, which is opened when first needed."""

    def __init__(self, space: Space, llm: str | LLM | None) -> None:
        self._space = space
        self._spec = llm
        self._opening = threading.Lock()
        self._llm: LLM | None = None

    def llm(self) -> LLM:
        """The model. Raises LLMNotConfigured, which says how to configure one."""
        with self._opening:
            if self._llm is None:
                self._llm = open_llm(self._spec)
            return self._llm

    @property
    def has_model(self) -> bool:
        """Whether there is a model to ask, opened or not."""
        model = self._llm or self._spec
        return isinstance(model, LLM) or is_configured(model)

    def close(self) -> None:
        """Close the model if this memory opened it."""
        if self._llm is not None and self._llm is not self._spec:
            self._llm.close()

    def room(self, question: str, budget: int) -> int:
        """Tokens that passages may have so that the prompt stays within ``budget``, and prompt and
        answer within the model's window.

        Raises InputError if there is no room for any.
        """
        llm = self.llm()
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
        shown = [Shown(one.text, one.source, _date(one)) for one in context.passages]
        reply = self.llm().complete(
            ask_messages(context.query, shown), max_tokens=ANSWER_TOKENS, temperature=0.0
        )
        self.pay("ask", reply)
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

    def pay(self, operation: str, reply: Reply) -> None:
        """Write what a reply cost into the ledger."""
        usage = reply.usage
        cost = Spent(
            operation, reply.model, usage.calls, usage.prompt_tokens, usage.completion_tokens
        )
        with self._space.write() as writer:
            ledger.spend(writer, writer.id, cost)


def _date(passage: Passage) -> str:
    return f"{passage.at:%Y-%m-%d}" if passage.at else ""
