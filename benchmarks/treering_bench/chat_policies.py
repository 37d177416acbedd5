"""Chat policies side by side: turns that are needed, tokens a turn, answers, and ratings.

Every policy gets the same conversations and the same replies. They differ only in what they put
into a prompt. Conversations are MT-Bench+'s, with the bot's turns written by a model
(:mod:`treering_bench.play`), and LoCoMo's first sessions.
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
from treering.errors import InputError, LLMReplyError, LLMUnavailable
from treering.llm.contract import LLM, Message
from treering.llm.settings import NONE
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering_bench.embedding import QuestionCache
from treering_bench.metrics.answers import token_f1
from treering_bench.play import (
    REPLY_TOKENS,
    TEMPERATURE,
    Conversation,
    PlayedRound,
    messages,
    play,
    rate,
)
from treering_bench.run import Progress
from treering_bench.task import DocumentPiece, Task, TaskQuestion

WITH_MEMOS = "memo"
"""The policy that needs a model to write memos; all others do without."""

WHOLE_HISTORY = 1_000_000  # tokens: more than any conversation here has
SHORT = "\nAnswer in as few words as possible."
ANSWER_TOKENS = 48


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


# ------------------------------------------------------------------ tokens a turn


def tokens_a_turn(
    conversations: Sequence[Conversation],
    compared: ChatComparison,
    rounds: int,
    progress: Progress,
) -> dict[str, Any]:
    """Tokens into and out of the model a turn, over one long conversation, writing included."""
    played = [it for chat in conversations for it in play(chat, compared.llm).rounds][:rounds]
    if not played:
        raise InputError("the data hold no round of a conversation")
    history = _tokens_of_whole_history(played, compared)
    whole = history["in"] + history["out"]
    figures: dict[str, Any] = {"rounds": len(played), "whole history": history}
    for done, policy in enumerate(compared.policies, 1):
        cost = _tokens_of(policy, played, compared)
        share = (cost["in"] + cost["out"]) / whole
        figures[policy] = {**cost, "share of whole history": round(share, 3)}
        progress(done, len(compared.policies), policy)
    return figures


def _tokens_of(
    policy: str, played: Sequence[PlayedRound], compared: ChatComparison
) -> dict[str, int]:
    sent = replied = 0
    with_memos = policy == WITH_MEMOS
    with compared.remembering((), with_memos) as memory:
        for turn in played:
            prompt = memory.chat_prompt(turn.user, policy=policy, budget=compared.budget)
            sent += prompt.tokens
            replied += estimate_tokens(turn.bot)
            _add_round(memory, turn)
            if with_memos:
                memory.memos.settle(source="chat")
        spent = memory.stats().spent
    sent += sum(cost.prompt_tokens for cost in spent)
    replied += sum(cost.completion_tokens for cost in spent)
    return {"in": round(sent / len(played)), "out": round(replied / len(played))}


def _tokens_of_whole_history(
    played: Sequence[PlayedRound], compared: ChatComparison
) -> dict[str, int]:
    """The tokens a turn if every turn sees the whole history."""
    with compared.remembering((), with_memos=False) as memory:
        sent = 0
        for turn in played:
            prompt = memory.chat_prompt(turn.user, policy="window", budget=WHOLE_HISTORY)
            sent += prompt.tokens
            _add_round(memory, turn)
    replied = sum(estimate_tokens(turn.bot) for turn in played)
    return {"in": round(sent / len(played)), "out": round(replied / len(played))}


def _add_round(memory: Memory, turn: PlayedRound) -> None:
    texts = {"user": turn.user, "assistant": turn.bot}
    memory.add([{"role": role, "content": text} for role, text in texts.items()])


# ------------------------------------------------------------------ answers


def answered_questions(
    pieces: Sequence[DocumentPiece],
    questions: Sequence[TaskQuestion],
    compared: ChatComparison,
    progress: Progress,
) -> dict[str, Any]:
    """LoCoMo's first sessions as one chat: token F1, evidence recall and tokens of each policy.

    A model whose time is up ends the measurement: only questions that every policy answered count.
    """
    rows: dict[str, list[tuple[float, float, float, int]]] = defaultdict(list)
    dialogue = [_message(piece, pieces[0].speaker) for piece in pieces]
    with compared.remembering(dialogue, compared.writes_memos) as memory:
        memos = len(memory.memos.list())
        units = {entry.id: str(entry.metadata["unit"]) for entry in memory.entries()}
        for done, question in enumerate(questions, 1):
            prompts = compared.prompts(memory, question.text)
            try:
                scored = {p: _scored(question, prompts[p], units, compared.llm) for p in prompts}
            except LLMUnavailable:
                break
            for policy, row in scored.items():
                rows[policy].append(row)
            progress(done, len(questions), "answering")
    names = "token F1", "evidence in part", "evidence whole", "tokens"
    return {
        "turns": len(pieces),
        "tokens": sum(estimate_tokens(piece.text) for piece in pieces),
        "memos": memos,
        "questions": len(next(iter(rows.values()), ())),
        "policies": {
            policy: dict(zip(names, np.mean(of_policy, axis=0).round(3).tolist(), strict=True))
            for policy, of_policy in rows.items()
        },
    }


def first_sessions(
    task: Task, sessions: int, count: int
) -> tuple[list[DocumentPiece], list[TaskQuestion]]:
    """The first sessions of a chat, and questions drawn evenly whose evidence is all in them."""
    pieces = [piece for session in task.documents[:sessions] for piece in session.pieces]
    there = {piece.unit for piece in pieces}
    fitting = [
        asked
        for asked in task.questions
        if asked.answerable and asked.evidence and asked.evidence <= there
    ]
    if not fitting:
        raise InputError(
            f"no question of {task.space} has all its evidence in the first {sessions} sessions; "
            "take more with --sessions"
        )
    step = max(len(fitting) / count, 1.0)
    places = (int(number * step) for number in range(count))
    return pieces, [fitting[place] for place in places if place < len(fitting)]


def _message(piece: DocumentPiece, user: str | None) -> dict[str, Any]:
    """A turn as a message. The first speaker of the chat is the user."""
    return {
        "role": "user" if piece.speaker == user else "assistant",
        "name": piece.speaker,
        "content": piece.text,
        "at": piece.at,
        "metadata": {"unit": piece.unit},
    }


def _scored(
    question: TaskQuestion, prompt: ChatPrompt, units: Mapping[str, str], llm: LLM
) -> tuple[float, float, float, int]:
    """Token F1 of the answer, shares of the evidence shown in part and whole, and tokens."""
    *before, last = prompt.messages
    asked = [*before, Message("user", last.content + SHORT)]
    reply = llm.complete(asked, max_tokens=ANSWER_TOKENS, temperature=0.0, seed=0)
    shown, whole = (
        {units[entry] for entry in entries if entry in units}
        for entries in (prompt.entries, prompt.whole)
    )
    evidence = question.evidence
    return (
        token_f1(reply.text, question.answers),
        len(shown & evidence) / len(evidence),
        len(whole & evidence) / len(evidence),
        prompt.tokens,
    )
