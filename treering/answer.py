"""Answers and chat from a memory: the prompt is I/O-free, the model is called here and paid for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from treering.errors import LLMReplyError, TextEncodingError
from treering.journal import entries, ledger
from treering.journal.contract import Database
from treering.llm.ask import ANSWER_TOKENS, NOT_IN_MEMORY, ask_messages, read_answer
from treering.llm.ask import Passage as Shown
from treering.llm.contract import LLM, Message, Reply, Usage
from treering.llm.prompts import load
from treering.llm.settings import open_llm
from treering.recall.context import CountTokens
from treering.recall.search import MAX_QUERY_CHARS
from treering.records import Context, Entry, Passage, Spent
from treering.split.stream import check_text

CHAT_WHOLE_TOKENS = 1_000  # FragRel, appendix B.3: up to here the model sees the whole history
CHAT_WHOLE_ROUNDS = 10
CHAT_SHOWN = 2 * CHAT_WHOLE_ROUNDS + 1  # entries that are read: one more tells that it is long
CHAT_REPLY_TOKENS = 400
CHAT_TEMPERATURE = 0.2  # MemoChat, table 2
RECENT_JOIN = " ### "  # MemoChat's mark between dialogue lines

Recall = Callable[[str, int, CountTokens], Context]
"""A context for a query within a number of tokens, by the model's own count."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, the passages it cites, and what it cost.

    ``found`` is false when it says that the memory does not hold the answer. ``dangling`` are
    numbers it cites that no passage has: a sign that the answer was made up.
    """

    text: str
    citations: tuple[Passage, ...] = ()
    dangling: tuple[int, ...] = ()
    found: bool = True
    context: Context | None = None
    usage: Usage = field(default_factory=Usage)
    model: str = ""

    def __str__(self) -> str:
        return self.text


class Answerer:
    """Asks the configured model, which is opened when first needed."""

    def __init__(self, database: Database, space: str, llm: str | LLM | None) -> None:
        self._database = database
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

    def close(self) -> None:
        """Close the model if this memory opened it."""
        if self._llm is not None and self._llm is not self._spec:
            self._llm.close()

    def ask(self, context: Context) -> Answer:
        """Answer the context's query from its passages. Raises LLMError."""
        if not context.passages:
            return Answer(NOT_IN_MEMORY, found=False, context=context)
        shown = [Shown(one.text, one.source, _date(one)) for one in context.passages]
        reply = self.llm().complete(
            ask_messages(context.query, shown), max_tokens=ANSWER_TOKENS, temperature=0.0
        )
        self._pay("ask", reply)
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

    def chat(self, message: str, history: Sequence[Entry], recall: Recall, budget: int) -> Answer:
        """Reply to a message given the conversation so far (FragRel, appendix B.3)."""
        llm = self.llm()
        recent = history
        context = None
        if _is_long(history, llm.count_tokens):
            recent = history[-2:]
            query = "\n".join([*(entry.text for entry in recent), message])[-MAX_QUERY_CHARS:]
            room = budget - llm.count_tokens(query)
            context = recall(query, room, llm.count_tokens) if room > 0 else None
        messages = chat_messages(message, recent, context)
        reply = llm.complete(messages, max_tokens=CHAT_REPLY_TOKENS, temperature=CHAT_TEMPERATURE)
        self._pay("chat", reply)
        try:
            check_text(reply.text, "the reply")
        except TextEncodingError as error:
            raise LLMReplyError(
                f"a reply of {reply.model} cannot be remembered: {error}"
            ) from error
        return Answer(
            text=reply.text.strip(), context=context, usage=reply.usage, model=reply.model
        )

    def round(self, message: str, answer: Answer) -> list[dict[str, Any]]:
        """Both sides of a round as messages to remember."""
        now = datetime.now(UTC)
        return [
            {"role": "user", "content": message, "at": now},
            {"role": "assistant", "content": answer.text, "at": now},
        ]

    def _pay(self, operation: str, reply: Reply) -> None:
        usage = reply.usage
        cost = Spent(
            operation, reply.model, usage.calls, usage.prompt_tokens, usage.completion_tokens
        )
        with self._database.write() as writer:
            ledger.spend(writer, entries.space_id(writer, self._space), cost)


def chat_messages(message: str, recent: Sequence[Entry], context: Context | None) -> list[Message]:
    """The chat prompt: FragRel's prompt 3, then evidences, recent dialogue and user input."""
    lines = [f"{entry.speaker or entry.role}: {entry.text}" for entry in recent]
    turn = load("fragrel_chat_turn").fill(
        evidences=str(context) if context and context.passages else "None.",
        recent=RECENT_JOIN.join(lines) or "None.",
        input=message,
    )
    return [Message("system", load("fragrel_chat").fill()), Message("user", turn)]


def _is_long(history: Sequence[Entry], count: CountTokens) -> bool:
    """Whether a conversation has outgrown the prompt and is recalled instead of shown."""
    if len(history) >= CHAT_SHOWN:
        return True
    return sum(count(entry.text) for entry in history) > CHAT_WHOLE_TOKENS


def _date(passage: Passage) -> str:
    return f"{passage.at:%Y-%m-%d}" if passage.at else ""
