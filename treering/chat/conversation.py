"""Rounds of a conversation: the message is kept, the model is asked, the reply is kept."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Protocol

from treering.chat import shown
from treering.chat.answer import Answer
from treering.chat.policy import JOIN, Policy, Sources, ids
from treering.chat.prompt import ChatPrompt, build, least_tokens
from treering.chat.sources import MemorySources
from treering.chat.stream import ChatStream
from treering.errors import (
    EmptyText,
    InputError,
    JournalError,
    LLMReplyError,
    ReplyDiscarded,
    TextEncodingError,
)
from treering.hints import Hint
from treering.ingest.intake import Intake
from treering.journal import entries, reply_sources, unanswered
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.llm.account import ModelAccount
from treering.llm.contract import Reply
from treering.records import Entry
from treering.search.context import Budget, CountTokens
from treering.text import check_text
from treering.views.registry import Views
from treering.views.settings import SpaceSettings, settings_of

log = logging.getLogger("treering")

PROMPT_TOKENS = 2_000
REPLY_TOKENS = 400
TEMPERATURE = 0.2  # MemoChat, table 2
STOP = (f"{JOIN}user:", f"{JOIN}assistant:", f"{JOIN}bot:")
"""A small model may go on with the dialogue it was shown; what follows was said by nobody."""
LEAST_LINE_TOKENS = 4  # "user: ok ###": no more lines than this fit a budget
PROMPT_BUILDS = 3  # a prompt is built again where something in it was forgotten meanwhile


class RoundRecord(Protocol):
    """What a caller stores about a round, in the transactions that store the round itself."""

    def earlier_message(self, reader: SpaceReader) -> Sequence[int]:
        """The entries that hold the message because an earlier attempt stored it, in order."""
        ...

    def keep_message(self, writer: SpaceWriter, message: Collection[str]) -> None:
        """Note the ids of the entries that hold the message."""
        ...

    def keep_answer(self, writer: SpaceWriter, answer: Answer) -> None:
        """Note the answer. What it raises keeps the reply from being stored."""
        ...


class Conversations:
    """The conversations of one space. Safe to use from many threads."""

    def __init__(
        self,
        space: Space,
        account: ModelAccount,
        views: Views,
        intake: Intake,
    ) -> None:
        self._space = space
        self._account = account
        self._views = views
        self._intake = intake

    def prompt(
        self,
        message: str,
        policy: Policy,
        source: str,
        budget: int | str | None,
        count: CountTokens,
    ) -> ChatPrompt:
        """What a model would be shown for a message; nothing is kept."""
        settings = settings_of(self._space)
        limit, count = _budget(budget, settings).counted(count)
        check_message(message, limit, count)
        self._views.catch_up()
        history = self._history(source, limit)
        sources = self._sources(count, settings)
        return build(message, history, policy, sources, limit, count, settings)

    def reply(
        self,
        message: str,
        policy: Policy,
        source: str,
        budget: int | str | None,
        record: RoundRecord | None = None,
        speaker: str | None = None,
    ) -> Answer:
        """One round. Raises InputError before anything is kept, LLMError after the message is."""
        llm = self._account.llm()
        open_round = self._store_message(message, source, budget, record, speaker)
        with self._given_up_if_failing(open_round):
            prompt, digests = self._prompt(open_round, policy)
            reply = llm.complete(
                prompt.messages,
                max_tokens=REPLY_TOKENS,
                temperature=open_round.temperature,
                stop=STOP,
            )
            answer = self._store_reply(
                source, open_round, _PromptReply(prompt, digests, reply), record
            )
        self._follow(source, policy)
        return answer

    def stream(
        self,
        message: str,
        policy: Policy,
        source: str,
        budget: int | str | None,
        record: RoundRecord | None = None,
        speaker: str | None = None,
    ) -> ChatStream:
        """As ``reply``, piece by piece; the model's errors are raised while iterating."""
        llm = self._account.llm()
        open_round = self._store_message(message, source, budget, record, speaker)
        with self._given_up_if_failing(open_round):
            prompt, digests = self._prompt(open_round, policy)
            pieces = llm.stream(
                prompt.messages,
                max_tokens=REPLY_TOKENS,
                temperature=open_round.temperature,
                stop=STOP,
            )

        def remember(reply: Reply) -> Answer:
            answer = self._store_reply(
                source, open_round, _PromptReply(prompt, digests, reply), record
            )
            self._follow(source, policy)
            return answer

        return ChatStream(pieces, prompt, remember, lambda: self._give_up(open_round))

    def digests(self, ids_shown: Collection[str]) -> Mapping[str, bytes]:
        """The digests of entries that a model is shown, and of those quoted as newer than them."""
        with self._space.read() as reader:
            return shown.digests(reader, ids_shown, self._views.marking.marks)

    def changed(self, digests: Mapping[str, bytes]) -> list[str]:
        """The ids among those of ``digests`` that are gone since, or hold another text."""
        with self._space.read() as reader:
            return shown.changed(reader, digests)

    def note_shown(self, replies: Collection[str], ids_shown: Collection[str]) -> None:
        """Note, by ids, what the model was shown that gave replies which are kept elsewhere."""
        with self._space.write() as writer:
            reply_sources.note(writer, writer.id, replies, ids_shown)

    def _sources(
        self, count: CountTokens, settings: SpaceSettings, hidden: frozenset[str] = frozenset()
    ) -> Sources:
        return MemorySources(self._space, self._views, count, settings, hidden)

    def _store_message(
        self,
        message: str,
        source: str,
        budget: int | str | None,
        record: RoundRecord | None,
        speaker: str | None,
    ) -> _OpenRound:
        """Store a message, durable on return, before anything else of the round can fail.

        A message that is said again because it got no reply is stored already. The transaction
        that stores it decides that: two callers who say the same at once store two messages.
        """
        llm = self._account.llm()
        settings = settings_of(self._space)
        window = llm.context_window - REPLY_TOKENS
        within, count = _budget(budget, settings).counted(llm.count_tokens, window)
        check_message(message, within, count)
        self._views.catch_up(begins=True)
        database = self._space.database
        with self._space.write() as writer:
            space = writer.id
            history = entries.tail(writer, space, source, _lines_within(within))
            is_present = database.is_present
            last = _last_of(history, unanswered.take(writer, space, source, is_present))
            # An earlier attempt at the same request comes first, then a message without a reply.
            stored = _holding(message, _earlier(writer, record)) or _holding(message, last)
            if stored:
                unanswered.answered(writer, space, stored)  # the mark of who asked before
                history = [entry for entry in history if entry.id not in stored]
            else:
                receipt = self._intake.said(writer, source, _message("user", message, speaker))
                stored = frozenset(receipt.ids)
            unanswered.ask(writer, space, stored, database.presence())
            if record is not None:
                record.keep_message(writer, stored)
            digests = entries.digests(writer, space, stored | ids(history))
            return _OpenRound(message, stored, history, within, digests, count, settings)

    def _prompt(
        self, open_round: _OpenRound, policy: Policy
    ) -> tuple[ChatPrompt, Mapping[str, bytes]]:
        """The prompt for a message, and the digests of the entries that it and the prompt show.

        The message must not be found as the best evidence for itself.
        """
        count, settings = open_round.count, open_round.settings
        history, gone = open_round.history, frozenset[str]()
        for _ in range(PROMPT_BUILDS):
            sources = self._sources(count, settings, open_round.entries)
            prompt = build(
                open_round.message, history, policy, sources, open_round.budget, count, settings
            )
            ids_shown = prompt.entries | open_round.entries
            digests = self.digests(ids_shown)
            # A second prompt shows nothing that was forgotten while the first one was built. What
            # is missing again is the id of no entry, as a policy of the user's own may give it.
            if ids_shown - digests.keys() <= gone:
                break
            gone |= ids_shown - digests.keys()
            history = [entry for entry in history if entry.id not in gone]
        # What was rewritten since the message was heard may be shown as it was then.
        digests_then = {
            entry: open_round.digests[entry]
            for entry in (ids_shown - gone) & open_round.digests.keys()
        }
        return prompt, {**digests, **digests_then}

    @contextmanager
    def _given_up_if_failing(self, open_round: _OpenRound) -> Iterator[None]:
        """Give the message up if the round fails or is interrupted: it can then be said again."""
        answered = False
        try:
            yield
            answered = True
        finally:
            if not answered:
                self._give_up(open_round)

    def _give_up(self, open_round: _OpenRound) -> None:
        try:
            with self._space.write() as writer:
                asker = self._space.database.presence()
                if writer.is_there:
                    unanswered.give_up(writer, writer.id, open_round.entries, asker)
        except JournalError as error:  # what stopped the round is what the caller must hear of
            log.warning("said again, a message without a reply is kept twice: %s", error)

    def _store_reply(
        self,
        source: str,
        open_round: _OpenRound,
        prompt_reply: _PromptReply,
        record: RoundRecord | None,
    ) -> Answer:
        """The reply, remembered. Raises LLMReplyError if it cannot be, ReplyDiscarded."""
        reply, materials = prompt_reply.reply, prompt_reply.prompt.materials
        self._account.pay("chat", reply)
        answer = Answer(
            text=_checked_text(reply),
            context=materials.context,
            evidences=materials.evidences,
            usage=reply.usage,
            model=reply.model,
        )
        with self._space.write() as writer:
            _refuse_what_shows_forgotten(writer, prompt_reply)
            receipt = self._intake.said(writer, source, _message("assistant", answer.text))
            reply_sources.note(writer, writer.id, receipt.ids, prompt_reply.shown.keys())
            unanswered.answered(writer, writer.id, open_round.entries)
            if record is not None:
                record.keep_answer(writer, answer)
        return answer

    def _follow(self, source: str, policy: Policy) -> None:
        """Index the round, write memos, and let a tree of each round grow.

        The round is complete, so a failure here only delays.
        """
        self._views.build()
        if policy.writes_memos:
            self._views.write_memos(source)
        self._views.grow_tree()

    def _history(self, source: str, budget: int) -> list[Entry]:
        """The end of a conversation, at least as much of it as fits."""
        with self._space.read() as reader:
            return entries.tail(reader, reader.id, source, _lines_within(budget))


@dataclass(frozen=True, slots=True)
class _OpenRound:
    """A round without a reply: its message, stored in ``entries``, and the conversation before it.

    ``budget`` bounds the prompt, in units that ``count`` counts. ``digests`` are those of the
    message's and conversation's entries, and ``settings`` those of the space.
    """

    message: str
    entries: frozenset[str]
    history: list[Entry]
    budget: int
    digests: Mapping[str, bytes]
    count: CountTokens
    settings: SpaceSettings

    @property
    def temperature(self) -> float:
        """The temperature of the reply."""
        chosen = self.settings.temperature
        return TEMPERATURE if chosen is None else chosen


@dataclass(frozen=True, slots=True)
class _PromptReply:
    """A reply to a prompt, and the digests of the entries that the prompt showed."""

    prompt: ChatPrompt
    shown: Mapping[str, bytes]
    reply: Reply


def _last_of(history: Sequence[Entry], marked: frozenset[str]) -> list[Entry]:
    """The marked entries at the end of a conversation: a long message has several."""
    return list(takewhile(lambda entry: entry.id in marked, reversed(history)))[::-1]


def _earlier(reader: SpaceReader, record: RoundRecord | None) -> list[Entry]:
    """The entries in which an earlier attempt at the round has stored its message."""
    seqs = record.earlier_message(reader) if record is not None else ()
    stored = entries.by_seq(reader, seqs)
    return [stored[seq] for seq in seqs]


def _holding(message: str, stored: Sequence[Entry]) -> frozenset[str]:
    """The ids of entries whose texts add up to a message; empty if they do not."""
    return ids(stored) if "".join(entry.text for entry in stored) == message else frozenset()


def _refuse_what_shows_forgotten(reader: SpaceReader, prompt_reply: _PromptReply) -> None:
    """Raise ReplyDiscarded if an entry that the model was shown is gone, or holds another text."""
    changed = shown.changed(reader, prompt_reply.shown)
    if changed:
        raise ReplyDiscarded(
            f"the reply of {prompt_reply.reply.model} was not kept: {len(changed)} of the "
            f"{len(prompt_reply.shown)} entries that it was shown were forgotten or changed while "
            "it was written, and it may quote them; your message stays, say it again"
        )


def _checked_text(reply: Reply) -> str:
    """The text of a reply. Raises LLMReplyError for what cannot be remembered."""
    try:
        check_text(reply.text, "the reply")
    except TextEncodingError as error:
        raise LLMReplyError(f"a reply of {reply.model} cannot be remembered: {error}") from error
    text = reply.text.strip()
    if not text:
        raise LLMReplyError(f"a reply of {reply.model} is nothing but white space; ask again")
    return text


def _message(role: str, text: str, speaker: str | None = None) -> dict[str, object]:
    return {"role": role, "name": speaker, "content": text, "at": datetime.now().astimezone()}


def _budget(given: int | str | None, settings: SpaceSettings) -> Budget:
    return Budget.parse((settings.budget or PROMPT_TOKENS) if given is None else given)


def _lines_within(budget: int) -> int:
    return budget // LEAST_LINE_TOKENS + 1


def check_message(message: str, budget: int, count: CountTokens) -> None:
    """Raises EmptyText, TextEncodingError, or InputError for what no prompt of ``budget`` holds."""
    if not check_text(message, "the message").strip():
        raise EmptyText("the message is empty; say something", param="message")
    needed = least_tokens(message, count)
    if needed > budget:
        raise InputError(
            f"the message needs a prompt of {needed} tokens, and {budget} are allowed by budget "
            "and model; raise the budget, or be brief",
            hint=Hint.ADD_TEXT,
        )
