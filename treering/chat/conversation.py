"""Rounds of a conversation: the message is kept, the model is asked, the reply is kept."""

from __future__ import annotations

from datetime import UTC, datetime

from treering.answer import Answer, Answerer
from treering.chat.policy import Policy, Sources, ids
from treering.chat.prompt import ChatPrompt, build, least_tokens
from treering.chat.sources import MemorySources
from treering.chat.stream import ChatStream
from treering.errors import EmptyText, InputError, LLMReplyError, TextEncodingError
from treering.fragments import store
from treering.ingest.drafts import Envelope
from treering.ingest.intake import Intake
from treering.journal import entries
from treering.journal.contract import Database
from treering.llm.contract import Reply
from treering.recall.context import CountTokens
from treering.records import Entry
from treering.split.stream import check_text
from treering.views import Views

REPLY_TOKENS = 400
TEMPERATURE = 0.2  # MemoChat, table 2
LEAST_LINE_TOKENS = 4  # "user: ok ###": no more lines than this fit a budget


class Conversations:
    """The conversations of one space. Safe to use from many threads."""

    def __init__(
        self,
        database: Database,
        space: str,
        answerer: Answerer,
        views: Views,
        intake: Intake,
    ) -> None:
        self._database = database
        self._space = space
        self._answerer = answerer
        self._views = views
        self._intake = intake

    def prompt(
        self, message: str, policy: Policy, source: str, budget: int, count: CountTokens
    ) -> ChatPrompt:
        """What a model would be shown for a message; nothing is kept."""
        check_message(message, budget, count)
        self._views.catch_up()
        history = self._history(source, budget)
        return build(message, history, policy, self._sources(count), budget, count)

    def reply(self, message: str, policy: Policy, source: str, budget: int) -> Answer:
        """One round. Raises InputError before anything is kept, LLMError after the message is."""
        llm = self._answerer.llm()
        prompt = self._asked(message, policy, source, budget)
        reply = llm.complete(prompt.messages, max_tokens=REPLY_TOKENS, temperature=TEMPERATURE)
        return self._answered(source, policy, prompt, reply)

    def stream(self, message: str, policy: Policy, source: str, budget: int) -> ChatStream:
        """As ``reply``, piece by piece; the model's errors are raised while iterating."""
        llm = self._answerer.llm()
        prompt = self._asked(message, policy, source, budget)
        pieces = llm.stream(prompt.messages, max_tokens=REPLY_TOKENS, temperature=TEMPERATURE)
        return ChatStream(
            pieces, prompt, lambda reply: self._answered(source, policy, prompt, reply)
        )

    def _sources(self, count: CountTokens, hidden: frozenset[str] = frozenset()) -> Sources:
        return MemorySources(self._database, self._space, self._views, count, hidden)

    def _asked(self, message: str, policy: Policy, source: str, budget: int) -> ChatPrompt:
        """The prompt for a message, which is durable on return.

        It is kept before anything can fail, and indexed after the round: it would be found as the
        best evidence for itself.
        """
        llm = self._answerer.llm()
        within = min(budget, llm.context_window - REPLY_TOKENS)
        check_message(message, within, llm.count_tokens)
        self._views.catch_up()
        history = self._history(source, within)
        hidden: frozenset[str] = frozenset()
        if history and (history[-1].role, history[-1].text) == ("user", message):
            hidden = ids(history[-1:])  # said again because it got no reply: it is kept already
            history = history[:-1]
        else:
            self._keep(source, "user", message)
        sources = self._sources(llm.count_tokens, hidden)
        return build(message, history, policy, sources, within, llm.count_tokens)

    def _answered(self, source: str, policy: Policy, prompt: ChatPrompt, reply: Reply) -> Answer:
        """The reply, remembered. Raises LLMReplyError if it cannot be."""
        self._answerer.pay("chat", reply)
        try:
            check_text(reply.text, "the reply")
        except TextEncodingError as error:
            raise LLMReplyError(
                f"a reply of {reply.model} cannot be remembered: {error}"
            ) from error
        text = reply.text.strip()
        self._keep(source, "assistant", text)
        self._views.build()
        if policy.writes_memos:
            self._views.write_memos(source)
        context = prompt.materials.context
        return Answer(text=text, context=context, usage=reply.usage, model=reply.model)

    def _keep(self, source: str, role: str, text: str) -> None:
        """Make a message durable; it is indexed later."""
        message = {"role": role, "content": text, "at": datetime.now(UTC)}
        self._intake.add(message, source, Envelope())

    def _history(self, source: str, budget: int) -> list[Entry]:
        """The end of a conversation, at least as much of it as fits."""
        with self._database.read() as reader:
            state = store.state(reader, self._space)
            if state is None:
                return []
            return entries.tail(reader, state.space, source, budget // LEAST_LINE_TOKENS + 1)


def check_message(message: str, budget: int, count: CountTokens) -> None:
    """Raises EmptyText, TextEncodingError, or InputError for what no prompt of ``budget`` holds."""
    if not check_text(message, "the message").strip():
        raise EmptyText("the message is empty; say something")
    needed = least_tokens(message, count)
    if needed > budget:
        raise InputError(
            f"the message needs a prompt of {needed} tokens, and {budget} are allowed by budget "
            "and model; raise the budget, or add() the text and ask about it"
        )
