"""Chat policies side by side: the rounds that are needed, and ratings of replies.

Every policy gets the same conversations and the same replies. They differ only in what they put
into a prompt. Conversations are MT-Bench+'s, with the bot's turns written by a model
(:mod:`treering_bench.play`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from treering.chat.prompt import ChatPrompt
from treering.embed.contract import Embedder
from treering.errors import LLMReplyError, LLMUnavailable
from treering.llm.contract import LLM
from treering.llm.settings import NONE
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering_bench.embedding import QuestionCache
from treering_bench.play import (
    REPLY_TOKENS,
    TEMPERATURE,
    Conversation,
    messages,
    play,
    rate,
)
from treering_bench.run import Progress

WITH_MEMOS = "memo"
"""The policy that needs a model to write memos; all others do without."""


@dataclass(frozen=True, slots=True)
class ChatComparison:
    """What is compared, and with what: ``budget`` is the tokens of a whole prompt.

    ``llm`` writes replies, answers and memos.
    """

    policies: tuple[str, ...]
    llm: LLM
    embedder: Embedder
    budget: int

    @contextmanager
    def remembering(
        self, dialogue: Sequence[Mapping[str, Any]], with_memos: bool
    ) -> Iterator[Memory]:
        """A memory of a chat: with extractive summaries, and with memos if asked for.

        The model writes no summaries: a call for every message would cost more than all else.
        """
        with TemporaryDirectory(prefix="treering-bench-") as folder:
            path, embedder = Path(folder) / "chat.db", QuestionCache(self.embedder)
            with Memory.open(path, embedder=embedder, llm=NONE) as memory:
                if dialogue:
                    memory.add(dialogue, source="chat")
                    memory.tree.settle()
            with Memory.open(
                path, embedder=embedder, llm=self.llm if with_memos else None
            ) as memory:
                if with_memos:
                    memory.memos.settle()
                yield memory

    @property
    def writes_memos(self) -> bool:
        """Whether any of the policies draws on memos."""
        return WITH_MEMOS in self.policies

    def prompts(self, memory: Memory, message: str) -> dict[str, ChatPrompt]:
        """What each policy shows a model for a message."""
        return {
            policy: memory.chat_prompt(message, policy=policy, budget=self.budget)
            for policy in self.policies
        }


# ------------------------------------------------------------------ turns that are needed


@dataclass(frozen=True, slots=True)
class ShownRounds:
    """Shares of the needed rounds that a prompt shows in part and whole, and its tokens."""

    in_part: float
    whole: float
    tokens: int


def needed_rounds(
    conversations: Sequence[Conversation], compared: ChatComparison, progress: Progress
) -> dict[str, Any]:
    """Share of the needed rounds that a prompt shows, in their own chat and in one joined chat."""
    played: list[Conversation] = []
    alone: dict[str, list[ShownRounds]] = defaultdict(list)
    for done, conversation in enumerate(conversations, 1):
        played.append(play(conversation, compared.llm))
        with compared.remembering(messages(played[-1]), compared.writes_memos) as memory:
            _note_shown(memory, played[-1], compared, alone)
        progress(done, len(conversations), "each conversation alone")
    joined: dict[str, list[ShownRounds]] = defaultdict(list)
    everything = [message for chat in played for message in messages(chat)]
    with compared.remembering(everything, compared.writes_memos) as memory:
        for done, chat in enumerate(played, 1):
            _note_shown(memory, chat, compared, joined)
            progress(done, len(played), "all in one chat")
    lengths = [sum(estimate_tokens(str(m["content"])) for m in messages(chat)) for chat in played]
    return {
        "conversations": len(played),
        "mean tokens of a conversation": round(float(np.mean(lengths))),
        "alone": _means(alone),
        "joined": _means(joined),
    }


def _note_shown(
    memory: Memory,
    conversation: Conversation,
    compared: ChatComparison,
    shown: dict[str, list[ShownRounds]],
) -> None:
    texts = {entry.id: entry.text for entry in memory.entries()}
    for policy, prompt in compared.prompts(memory, conversation.question).items():
        shown[policy].append(_shown_rounds(prompt, texts, conversation))


def _shown_rounds(
    prompt: ChatPrompt, texts: Mapping[str, str], conversation: Conversation
) -> ShownRounds:
    """A round with the same words as a needed one counts, too: MT-Bench+ repeats some questions."""
    shown, whole = (
        {texts[entry] for entry in entries if entry in texts}
        for entries in (prompt.entries, prompt.whole)
    )
    rounds = [{it.user, it.bot} for it in conversation.rounds if it.label in conversation.needed]
    in_part = sum(bool(turns & shown) for turns in rounds) / len(rounds)
    return ShownRounds(
        in_part, sum(turns <= whole for turns in rounds) / len(rounds), prompt.tokens
    )


def _means(by_policy: Mapping[str, Iterable[ShownRounds]]) -> dict[str, dict[str, float]]:
    means = {}
    for policy, rows in by_policy.items():
        table = [(row.in_part, row.whole, row.tokens) for row in rows]
        names = "shown in part", "shown whole", "tokens"
        means[policy] = dict(zip(names, np.mean(table, axis=0).round(3).tolist(), strict=True))
    return means


# ------------------------------------------------------------------ ratings


def rated_replies(
    conversations: Sequence[Conversation], compared: ChatComparison, judge: LLM, progress: Progress
) -> dict[str, Any]:
    """A judge's rating, 1 to 100, of the replies to the last questions (MemoChat, table 9).

    Only conversations in which every policy's reply was rated count. A model whose time is up ends
    the measurement.
    """
    ratings: dict[str, list[int]] = defaultdict(list)
    unread = 0
    for done, conversation in enumerate(conversations, 1):
        try:
            of_conversation = _ratings(conversation, compared, judge)
        except LLMReplyError:
            unread += 1
        except LLMUnavailable:
            break
        else:
            for policy, rating in of_conversation.items():
                ratings[policy].append(rating)
        progress(done, len(conversations), "rating")
    return {
        "conversations": len(next(iter(ratings.values()), ())),
        "left out, a rating could not be read": unread,
        "rating": {policy: round(float(np.mean(some)), 1) for policy, some in ratings.items()},
    }


def _ratings(conversation: Conversation, compared: ChatComparison, judge: LLM) -> dict[str, int]:
    played = play(conversation, compared.llm)
    with compared.remembering(messages(played), with_memos=True) as memory:
        ratings = {}
        for policy, prompt in compared.prompts(memory, played.question).items():
            reply = compared.llm.complete(
                list(prompt.messages), max_tokens=REPLY_TOKENS, temperature=TEMPERATURE, seed=0
            )
            ratings[policy] = rate(played, reply.text, judge)
        return ratings
