"""Chat policies side by side: turns that are needed, tokens a turn, answers, ratings.

    python -m benchmarks.chat_policies needed MTBENCH --model MODEL --replies FILE [--budget 2000]
    python -m benchmarks.chat_policies tokens MTBENCH --model MODEL --replies FILE [--rounds 60]
    python -m benchmarks.chat_policies answers LOCOMO --model MODEL --replies FILE [--questions 20]
    python -m benchmarks.chat_policies rated MTBENCH --model MODEL --judge MODEL --replies FILE

MTBENCH and LOCOMO are the published files. What the model replies is kept in ``--replies``, so that
a run that was stopped goes on, and one that is repeated costs nothing; ``--seconds`` stops it.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.hurried import Hurried
from treering.bench.embedding import QuestionCache
from treering.bench.kept_replies import KeptReplies
from treering.bench.metrics.answers import token_f1
from treering.bench.play import (
    REPLY_TOKENS,
    TEMPERATURE,
    Conversation,
    conversations,
    messages,
    play,
    rate,
)
from treering.bench.suites.locomo import load as load_locomo
from treering.bench.task import Piece, Question
from treering.chat.prompt import ChatPrompt
from treering.chat.registry import POLICIES
from treering.embed.minilm import MiniLM
from treering.errors import LLMReplyError, LLMUnavailable
from treering.llm.contract import LLM, Message
from treering.llm.settings import open_llm
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory

SHORT = "\nAnswer in as few words as possible."
ANSWER_TOKENS = 48
OFFLINE = tuple(name for name in POLICIES if name != "memo")


def model(options: argparse.Namespace) -> KeptReplies:
    """The model, its replies kept."""
    return KeptReplies(Hurried(open_llm(options.model), options.seconds), options.replies)


@contextmanager
def remembering(said: Sequence[Mapping[str, Any]], llm: LLM | None) -> Iterator[Memory]:
    """A memory of a chat: with extractive summaries, and with memos if there is a model.

    A model is not asked for summaries: a call for every message would cost more than all else.
    """
    with TemporaryDirectory() as folder:
        path, embedder = Path(folder) / "chat.db", QuestionCache(MiniLM())
        with Memory.open(path, embedder=embedder) as opened:
            if said:
                opened.add(said, source="chat")
                opened.tree.settle()
        with Memory.open(path, embedder=embedder, llm=llm) as opened:
            if llm is not None:
                opened.memos.settle()
            yield opened


# ------------------------------------------------------------------ turns that are needed


def needed(options: argparse.Namespace) -> dict[str, Any]:
    """Share of the needed rounds that a prompt shows, in their own chat and in one joined chat."""
    llm = model(options)
    played = [play(one, llm) for one in _sample(options)]
    writer = llm if "memo" in options.policies else None
    alone: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for one in played:
        with remembering(messages(one), writer) as opened:
            for policy in options.policies:
                alone[policy].append(_recall(opened, one, policy, options.budget))
    joined: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    with remembering([said for one in played for said in messages(one)], writer) as opened:
        for policy in options.policies:
            joined[policy] = [_recall(opened, one, policy, options.budget) for one in played]
    lengths = [sum(estimate_tokens(str(m["content"])) for m in messages(one)) for one in played]
    return {
        "conversations": len(played),
        "mean tokens of a conversation": round(float(np.mean(lengths))),
        "alone": _means(alone),
        "joined": _means(joined),
    }


def _sample(options: argparse.Namespace) -> list[Conversation]:
    return list(conversations(options.data))[: options.conversations]


def _recall(
    opened: Memory, one: Conversation, policy: str, budget: int
) -> tuple[float, float, int]:
    """Needed rounds shown at least in part, shown whole, and tokens of the prompt.

    A round with the words of a needed one is as good: MT-Bench+ repeats some questions.
    """
    prompt = opened.chat_prompt(one.question, policy=policy, budget=budget)
    texts = {entry.id: entry.text for entry in opened.entries()}
    shown, whole = (
        {texts[entry] for entry in entries if entry in texts}
        for entries in (prompt.entries, prompt.whole)
    )
    rounds = [{it.user, it.bot} for it in one.rounds if it.label in one.needed]
    part = sum(bool(said & shown) for said in rounds) / len(rounds)
    return part, sum(said <= whole for said in rounds) / len(rounds), prompt.tokens


def _means(found: dict[str, list[tuple[float, float, int]]]) -> dict[str, dict[str, float]]:
    names = "shown in part", "shown whole", "tokens"
    return {
        policy: dict(zip(names, np.mean(rows, axis=0).round(3).tolist(), strict=True))
        for policy, rows in found.items()
    }


# ------------------------------------------------------------------ ratings


def rated(options: argparse.Namespace) -> dict[str, Any]:
    """A judge's rating, 1 to 100, of the replies to the last questions (MemoChat, table 9).

    Only conversations in which every policy's reply was rated count.
    """
    llm = model(options)
    judge = KeptReplies(open_llm(options.judge or options.model), options.replies)
    found: dict[str, list[int]] = defaultdict(list)
    unread = 0
    for one in _sample(options):
        try:
            played = play(one, llm)
            with remembering(messages(played), llm) as opened:
                ratings = {
                    policy: rate(played, _reply(opened, played, policy, llm, options.budget), judge)
                    for policy in options.policies
                }
        except LLMReplyError:
            unread += 1
            continue
        except LLMUnavailable:  # time is up
            break
        for policy, rating in ratings.items():
            found[policy].append(rating)
    return {
        "conversations": len(next(iter(found.values()), ())),
        "left out, a rating could not be read": unread,
        "rating": {policy: round(float(np.mean(some)), 1) for policy, some in found.items()},
    }


def _reply(opened: Memory, one: Conversation, policy: str, llm: LLM, budget: int) -> str:
    prompt = opened.chat_prompt(one.question, policy=policy, budget=budget)
    asked = list(prompt.messages)
    return llm.complete(asked, max_tokens=REPLY_TOKENS, temperature=TEMPERATURE, seed=0).text


# ------------------------------------------------------------------ tokens a turn


def tokens(options: argparse.Namespace) -> dict[str, Any]:
    """Tokens into and out of the model a turn, over one long conversation, writing included."""
    llm = model(options)
    rounds = [it for one in _sample(options) for it in play(one, llm).rounds][: options.rounds]
    found: dict[str, Any] = {"rounds": len(rounds)}
    for policy in options.policies:
        sent, replied = 0, 0
        with remembering((), llm if policy == "memo" else None) as opened:
            for one in rounds:
                prompt = opened.chat_prompt(one.user, policy=policy, budget=options.budget)
                sent += prompt.tokens
                replied += estimate_tokens(one.bot)
                said = {"user": one.user, "assistant": one.bot}
                opened.add([{"role": role, "content": text} for role, text in said.items()])
                if policy == "memo":
                    opened.memos.settle(source="chat")
            extra = opened.stats().spent
        sent += sum(one.prompt_tokens for one in extra)
        replied += sum(one.completion_tokens for one in extra)
        found[policy] = {"in": round(sent / len(rounds)), "out": round(replied / len(rounds))}
    found["whole history"] = _whole(rounds)
    whole = found["whole history"]["in"] + found["whole history"]["out"]
    for policy in options.policies:
        both = found[policy]["in"] + found[policy]["out"]
        found[policy]["share of whole history"] = round(both / whole, 3)
    return found


def _whole(rounds: Sequence[Any]) -> dict[str, int]:
    """Every turn sees everything before it."""
    with remembering((), None) as opened:
        sent = 0
        for one in rounds:
            prompt = opened.chat_prompt(one.user, policy="window", budget=1_000_000)
            sent += prompt.tokens
            said = {"user": one.user, "assistant": one.bot}
            opened.add([{"role": role, "content": text} for role, text in said.items()])
    replied = sum(estimate_tokens(one.bot) for one in rounds)
    return {"in": round(sent / len(rounds)), "out": round(replied / len(rounds))}


# ------------------------------------------------------------------ answers


def answers(options: argparse.Namespace) -> dict[str, Any]:
    """LoCoMo's first sessions as one chat: token F1, evidence recall and tokens of each policy."""
    llm = model(options)
    pieces, questions = _locomo(options)
    rows: dict[str, list[tuple[float, float, float, int]]] = defaultdict(list)
    said = [_message(piece, pieces[0].speaker) for piece in pieces]
    with remembering(said, llm if "memo" in options.policies else None) as opened:
        memos = len(opened.memos.list())
        units = {entry.id: str(entry.metadata["unit"]) for entry in opened.entries()}
        for question in questions:
            asked = {
                policy: opened.chat_prompt(question.text, policy=policy, budget=options.budget)
                for policy in options.policies
            }
            try:
                found = {one: _answered(question, asked[one], units, llm) for one in asked}
            except LLMUnavailable:  # time is up: only questions that every policy answered count
                break
            for policy, row in found.items():
                rows[policy].append(row)
    names = "token F1", "evidence in part", "evidence whole", "tokens"
    return {
        "turns": len(pieces),
        "tokens": sum(estimate_tokens(piece.text) for piece in pieces),
        "memos": memos,
        "questions": len(next(iter(rows.values()), ())),
        "policies": {
            policy: dict(zip(names, np.mean(one, axis=0).round(3).tolist(), strict=True))
            for policy, one in rows.items()
        },
    }


def _locomo(options: argparse.Namespace) -> tuple[list[Piece], list[Question]]:
    """The first sessions of the first chat, and questions whose evidence is all in them."""
    task = next(load_locomo(options.data))
    pieces = [piece for one in task.documents[: options.sessions] for piece in one.pieces]
    there = {piece.unit for piece in pieces}
    fitting = [one for one in task.questions if one.evidence and one.evidence <= there]
    step = max(len(fitting) / options.questions, 1.0)
    places = (int(number * step) for number in range(options.questions))
    return pieces, [fitting[place] for place in places if place < len(fitting)]


def _message(piece: Piece, user: str | None) -> dict[str, Any]:
    """A turn; whoever speaks first in the chat takes the user's part."""
    return {
        "role": "user" if piece.speaker == user else "assistant",
        "name": piece.speaker,
        "content": piece.text,
        "at": piece.at,
        "metadata": {"unit": piece.unit},
    }


def _answered(
    question: Question, prompt: ChatPrompt, units: Mapping[str, str], llm: LLM
) -> tuple[float, float, float, int]:
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


MEASURES = {"needed": needed, "rated": rated, "tokens": tokens, "answers": answers}


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=list(MEASURES))
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", required=True, help="A GGUF file or http://HOST/v1#MODEL.")
    parser.add_argument("--judge", help="Rates replies; by default the model itself.")
    parser.add_argument("--replies", type=Path, required=True, help="Where replies are kept.")
    parser.add_argument("--budget", type=int, default=2000, help="Tokens of the whole prompt.")
    parser.add_argument("--conversations", type=int, default=14)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--sessions", type=int, default=6, help="Of LoCoMo's first chat.")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--policies", nargs="+", default=OFFLINE, choices=list(POLICIES))
    parser.add_argument("--seconds", type=float, default=math.inf, help="Stop after these.")
    options = parser.parse_args()
    print(json.dumps(MEASURES[options.what](options), indent=2))


if __name__ == "__main__":
    main()
