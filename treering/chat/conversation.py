"""Rounds of a conversation: store the message, ask the model, store the reply."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import Protocol

from treering.chat.answer import Answer
from treering.chat.policy import JOIN, Policy, ids
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
from treering.journal import claims, entries, writing
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.llm.account import ModelAccount
from treering.llm.contract import Reply, Sampling
from treering.records import Entry
from treering.search.context import Budget, CountTokens
from treering.search.marks import Quote
from treering.sharing import AskedSpaces, SpacesBeside
from treering.text import check_text
from treering.views.choices import SpaceSettings
from treering.views.registry import Views
from treering.views.settings import settings_of

log = logging.getLogger("treering")

PROMPT_TOKENS = 2_000
REPLY_TOKENS = 400
TEMPERATURE = 0.2  # MemoChat, table 2
STOP = (f"{JOIN}user:", f"{JOIN}assistant:", f"{JOIN}bot:")
"""A small model may go on with the dialogue it was shown, and invent lines of both sides."""
LEAST_LINE_TOKENS = 4  # of "user: ok ###", the shortest line
PROMPT_BUILDS = 3  # a prompt is built again where something in it was forgotten meanwhile


class RoundRecord(Protocol):
    """A caller's own record of a round, stored in the transactions that store the round."""

    def earlier_message(self, reader: SpaceReader) -> Sequence[int]:
        """The entries, in order, in which an earlier attempt stored the message."""
        ...

    def keep_message(self, writer: SpaceWriter, message: Collection[str]) -> None:
        """Note the ids of the entries that hold the message."""
        ...

    def keep_answer(self, writer: SpaceWriter, answer: Answer) -> None:
        """Note the answer. If it raises, the reply is not stored."""
        ...


class Conversations:
    """The conversations of one space. Safe to use from many threads."""

    def __init__(
        self,
        space: Space,
        account: ModelAccount,
        views: Views,
        intake: Intake,
        beside: SpacesBeside,
    ) -> None:
        self._beside = beside
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
        spaces: Sequence[str] | None = None,
    ) -> ChatPrompt:
        """The prompt that a model would get for a message; nothing is stored."""
        settings = settings_of(self._space)
        limit, count = _budget(budget, settings).limit_and_count(count)
        check_message(message, limit, count)
        self._views.catch_up()
        with self._space.read() as reader:
            history = entries.tail(reader, reader.id, source, _lines_within(limit))
        sources = self._sources(count, settings, spaces)
        return build(message, history, policy, sources, limit, count, settings)

    def begin(
        self,
        message: str,
        policy: Policy,
        source: str,
        budget: int | str | None,
        speaker: str | None = None,
        spaces: Sequence[str] | None = None,
        record: RoundRecord | None = None,
    ) -> ChatRound:
        """Store a message, durable on return, before anything else of the round can fail.

        A message that is said again because it got no reply is stored already. The transaction
        that stores it decides that: two callers who say the same at once store two messages.
        """
        llm = self._account.llm()
        settings = settings_of(self._space)
        window = llm.context_window - REPLY_TOKENS
        within, count = _budget(budget, settings).limit_and_count(llm.count_tokens, window)
        check_message(message, within, count)
        if spaces is not None and [*spaces] != [self._space.name]:  # this one may be new
            self._beside.ask(spaces)  # it raises: then nothing is stored
        self._views.catch_up(begins=True)
        database = self._space.database
        with self._space.write() as writer:
            space = writer.id
            history = entries.tail(writer, space, source, _lines_within(within))
            marked = claims.take_unanswered(writer, space, source, database.is_present)
            # The marked entries at the end: a long message has several.
            last = list(takewhile(lambda entry: entry.id in marked, reversed(history)))[::-1]
            # An earlier attempt at the same request comes first, then a message without a reply.
            stored = _ids_if_equal(message, _earlier(writer, record)) or _ids_if_equal(
                message, last
            )
            if stored:
                claims.mark_answered(writer, space, stored)  # the mark of who asked before
                history = [entry for entry in history if entry.id not in stored]
            else:
                receipt = self._intake.said(writer, source, _message("user", message, speaker))
                stored = frozenset(receipt.ids)
            claims.await_reply(writer, space, stored, database.presence())
            if record is not None:
                record.keep_message(writer, stored)
            digests = entries.digests(writer, space, stored | ids(history))
            return ChatRound(
                *(source, message, stored, history, within, digests, count, settings, spaces),
                *(policy, record),
            )

    def reply(self, begun: ChatRound) -> Answer:
        """Ask the model for the reply of a round, and remember it. Raises LLMError."""
        llm = self._account.llm()
        with self._giving_up_on_failure(begun):
            prompt, digests = self._prompt(begun)
            reply = llm.complete(prompt.messages, **begun.sampling)
            answer = self._store_reply(begun, prompt, digests, reply)
        self._follow(begun)
        return answer

    def stream(self, begun: ChatRound) -> ChatStream:
        """As ``reply``, piece by piece; the model's errors are raised while iterating."""
        llm = self._account.llm()
        with self._giving_up_on_failure(begun):
            prompt, digests = self._prompt(begun)
            pieces = llm.stream(prompt.messages, **begun.sampling)

        def remember(reply: Reply) -> Answer:
            answer = self._store_reply(begun, prompt, digests, reply)
            self._follow(begun)
            return answer

        return ChatStream(pieces, prompt, remember, lambda: self._give_up(begun))

    def digests(self, ids_shown: Collection[str]) -> Mapping[str, bytes]:
        """The digests of entries that a model is shown, and of those quoted as newer than them."""
        with self._space.read() as reader:
            by_seq = entries.by_seq(reader, entries.seqs_of(reader, reader.id, ids_shown))
            quotes = [Quote.whole(seq, entry) for seq, entry in by_seq.items()]
            marks = self._views.marking.marks(reader, quotes)
            newer = (one for mark in marks for one in (mark.superseded_by, mark.stale))
            named = {statement.entry_id for statement in newer if statement is not None}
            return entries.digests(reader, reader.id, named.union(ids_shown))

    def changed(self, digests: Mapping[str, bytes]) -> list[str]:
        """The ids among those of ``digests`` that are gone since, or hold another text."""
        with self._space.read() as reader:
            return _changed_entries(reader, digests)

    def note_shown(self, replies: Collection[str], ids_shown: Collection[str]) -> None:
        """Note, by ids, the entries shown to the model for replies that are stored elsewhere."""
        with self._space.write() as writer:
            writing.note_shown(writer, writer.id, replies, ids_shown)

    def _sources(
        self,
        count: CountTokens,
        settings: SpaceSettings,
        spaces: Sequence[str] | None,
        hidden: frozenset[str] = frozenset(),
    ) -> MemorySources:
        if spaces is None:
            asked = AskedSpaces.of_one(self._views, settings)
        else:
            asked = replace(self._beside.ask(spaces), settings=settings)
        return MemorySources(self._views, asked, count, hidden)

    def _prompt(self, round_: ChatRound) -> tuple[ChatPrompt, Mapping[str, bytes]]:
        """The prompt for a message, and the digests of the entries of both.

        The message must not be found as the best evidence for itself.
        """
        count, settings = round_.count, round_.settings
        history, gone = round_.history, frozenset[str]()
        for _ in range(PROMPT_BUILDS):
            sources = self._sources(count, settings, round_.spaces, round_.entries)
            prompt = build(
                round_.message, history, round_.policy, sources, round_.budget, count, settings
            )
            ids_shown = prompt.entries | round_.entries
            digests = self.digests(ids_shown)
            # A second prompt shows nothing that was forgotten while the first one was built. An id
            # that is missing again belongs to no entry: a user's own policy may give such ids.
            if ids_shown - digests.keys() <= gone:
                break
            gone |= ids_shown - digests.keys()
            history = [entry for entry in history if entry.id not in gone]
        # Entries that were rewritten since the message was stored may be shown as they were then.
        digests_then = {
            entry: round_.digests[entry] for entry in (ids_shown - gone) & round_.digests.keys()
        }
        return prompt, {**digests, **digests_then}

    @contextmanager
    def _giving_up_on_failure(self, round_: ChatRound) -> Iterator[None]:
        """Give the message up if the round fails or is interrupted: it can then be said again."""
        answered = False
        try:
            yield
            answered = True
        finally:
            if not answered:
                self._give_up(round_)

    def _give_up(self, round_: ChatRound) -> None:
        try:
            with self._space.write() as writer:
                asker = self._space.database.presence()
                if writer.is_there:
                    claims.stop_waiting(writer, writer.id, round_.entries, asker)
        except JournalError as error:  # the caller must hear of the first error
            log.warning("a message without a reply is stored twice if it is said again: %s", error)

    def _store_reply(
        self,
        round_: ChatRound,
        prompt: ChatPrompt,
        digests: Mapping[str, bytes],
        reply: Reply,
    ) -> Answer:
        """The reply, remembered. Raises LLMReplyError if it cannot be, ReplyDiscarded.

        ``digests`` are those of the entries that the prompt showed.
        """
        self._account.pay("chat", reply)
        answer = Answer(
            text=_storable_text(reply),
            context=prompt.materials.context,
            evidences=prompt.materials.evidences,
            usage=reply.usage,
            model=reply.model,
        )
        with self._space.write() as writer:
            if changed := _changed_entries(writer, digests):
                raise ReplyDiscarded(
                    f"the reply of {reply.model} was not kept: {len(changed)} of the "
                    f"{len(digests)} entries that it was shown were forgotten or changed while it "
                    "was written, and it may quote them; your message is stored; send it again"
                )
            said = self._intake.said(writer, round_.source, _message("assistant", answer.text))
            writing.note_shown(writer, writer.id, said.ids, digests.keys())
            claims.mark_answered(writer, writer.id, round_.entries)
            if round_.record is not None:
                round_.record.keep_answer(writer, answer)
        return answer

    def _follow(self, round_: ChatRound) -> None:
        """Index the round, write memos, and let a tree of each round grow.

        The round is complete, so a failure here only delays.
        """
        self._views.build()
        self._views.settle_round(round_.source, writes_memos=round_.policy.writes_memos)


@dataclass(frozen=True, slots=True)
class ChatRound:
    """A round without a reply: its message, stored in ``entries``, and the conversation before it.

    ``budget`` bounds the prompt, in units that ``count`` counts. ``digests`` are those of the
    message's and conversation's entries, and ``settings`` those of the space.
    """

    source: str
    message: str
    entries: frozenset[str]
    history: list[Entry]
    budget: int
    digests: Mapping[str, bytes]
    count: CountTokens
    settings: SpaceSettings
    spaces: Sequence[str] | None
    policy: Policy
    record: RoundRecord | None

    @property
    def sampling(self) -> Sampling:
        """The arguments of the model's call."""
        chosen = self.settings.temperature
        temperature = TEMPERATURE if chosen is None else chosen
        return {"max_tokens": REPLY_TOKENS, "temperature": temperature, "stop": STOP}


def _changed_entries(reader: SpaceReader, shown: Mapping[str, bytes]) -> list[str]:
    """The ids among those of ``shown`` that are gone since, or hold another text."""
    now = entries.digests(reader, reader.id, shown.keys())
    return [entry for entry, digest in shown.items() if now.get(entry) != digest]


def _earlier(reader: SpaceReader, record: RoundRecord | None) -> list[Entry]:
    """The entries in which an earlier attempt at the round has stored its message."""
    seqs = record.earlier_message(reader) if record is not None else ()
    stored = entries.by_seq(reader, seqs)
    return [stored[seq] for seq in seqs]


def _ids_if_equal(message: str, stored: Sequence[Entry]) -> frozenset[str]:
    """The ids of entries whose texts add up to a message; empty if they do not."""
    return ids(stored) if "".join(entry.text for entry in stored) == message else frozenset()


def _storable_text(reply: Reply) -> str:
    """The text of a reply. Raises LLMReplyError if it cannot be stored."""
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
    """Raise EmptyText, TextEncodingError, or InputError for a message longer than ``budget``."""
    if not check_text(message, "the message").strip():
        raise EmptyText("the message is empty; say something", param="message")
    needed = least_tokens(message, count)
    if needed > budget:
        raise InputError(
            f"the message needs a prompt of {needed} tokens, and {budget} are allowed by budget "
            "and model; raise the budget, or be brief",
            hint=Hint.ADD_TEXT,
        )
