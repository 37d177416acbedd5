"""Conversations in which a model plays the bot: MT-Bench+ leaves the bot's turns empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from treering.llm.contract import LLM, Message
from treering.llm.judge import judge_messages, read_rating
from treering.llm.prompts import load
from treering_bench.read import Row, json_items, only_file
from treering_bench.suites.mtbench_plus import TOPIC

REPLY_TOKENS = 400
"""Of a bot's turn: about what GPT-4 writes to these questions, so that a conversation is longer
than the window of 2,000 tokens. Cut shorter, every conversation fits, and no memory is needed."""

TEMPERATURE = 0.2  # MemoChat, table 2
VERDICT_TOKENS = 256  # the short explanation that is asked for, and the rating


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """A user's turn, the bot's, and the label that says which topic it belongs to."""

    label: str
    user: str
    bot: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of MT-Bench+: its rounds, then a question that comes back to some of them.

    ``needed`` are the labels of the rounds the question needs, all those of its topics.
    """

    id: str
    kind: str
    rounds: tuple[PlayedRound, ...]
    question: str
    needed: frozenset[str]


def conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of the published file."""
    for row in json_items(only_file(path, "mtbenchplus*.json")):
        yield _conversation(row)


def played_rows(path: Path, llm: LLM, *, seed: int = 0) -> Iterator[Row]:
    """The rows of the published file with the bot's turns written by ``llm``, all but the last."""
    for row in json_items(only_file(path, "mtbenchplus*.json")):
        rounds = play(_conversation(row), llm, seed=seed).rounds
        for turn, round_ in zip(row["conversations"][1::2], rounds, strict=False):
            turn["value"] = round_.bot
        yield row


def play(conversation: Conversation, llm: LLM, *, seed: int = 0) -> Conversation:
    """The conversation with the bot's turns written by ``llm``, which sees the round before.

    No memory has a part in it, so that all policies are measured on the same words. A turn that the
    file has already stays.
    """
    played: list[PlayedRound] = []
    for round_ in conversation.rounds:
        if round_.bot:
            played.append(round_)
            continue
        reply = llm.complete(
            _messages(round_.user, played[-1:]),
            max_tokens=REPLY_TOKENS,
            temperature=TEMPERATURE,
            seed=seed,
        )
        played.append(PlayedRound(round_.label, round_.user, reply.text.strip()))
    return Conversation(
        conversation.id,
        conversation.kind,
        tuple(played),
        conversation.question,
        conversation.needed,
    )


def rate(conversation: Conversation, reply: str, judge: LLM) -> int:
    """The judge's rating of a reply to the question, 1 to 100 (MemoChat, table 9).

    The bot's turns must have been played. Raises LLMReplyError if there is no rating to be read.
    """
    asked = judge_messages(
        needed_history(conversation), f"user: {conversation.question}", f"bot: {reply}"
    )
    return read_rating(judge.complete(asked, max_tokens=VERDICT_TOKENS, temperature=0.0).text)


def needed_history(conversation: Conversation) -> str:
    """The rounds that the question needs, as a judge is shown them (MemoChat, table 9)."""
    rounds = (round_ for round_ in conversation.rounds if round_.label in conversation.needed)
    return "\n\n".join(f"user: {round_.user}\n\nbot: {round_.bot}" for round_ in rounds)


def messages(conversation: Conversation) -> list[dict[str, object]]:
    """The rounds as messages that a memory takes in, each with its round's label."""
    turns: list[dict[str, object]] = []
    for round_ in conversation.rounds:
        about = {"round": f"{conversation.id} {round_.label}"}
        turns.append({"role": "user", "content": round_.user, "metadata": about})
        turns.append({"role": "assistant", "content": round_.bot, "metadata": about})
    return turns


def _messages(user: str, before: Sequence[PlayedRound]) -> list[Message]:
    lines = [line for it in before for line in (f"user: {it.user}", f"bot: {it.bot}")]
    asked = load("fragrel_chat_turn").fill(
        evidences="None.", recent=" ### ".join(lines) or "None.", input=f"user: {user} ### bot:"
    )
    return [Message("system", load("fragrel_chat").fill()), Message("user", asked)]


def _conversation(row: Row) -> Conversation:
    turns = row["conversations"]
    *earlier, (last, _) = zip(turns[::2], turns[1::2], strict=True)
    topics = set(TOPIC.findall(last["turn-info"]))
    rounds = tuple(
        PlayedRound(user["turn-info"], user["value"], bot["value"]) for user, bot in earlier
    )
    needed = frozenset(it.label for it in rounds if it.label.rpartition("-")[0] in topics)
    return Conversation(row["id"], row["type"], rounds, last["value"], needed)
