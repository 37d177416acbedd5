"""MemTree's MSC-E: chats carried on to any length, and questions about each third of them.

A chat is carried on two rounds a call (A.2.3), and a question is made from a part of the
conversation (A.2.4), so that the place of its evidence is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from treering.errors import InputError, LLMReplyError
from treering.llm.contract import LLM, Message
from treering_bench.prompts import load
from treering_bench.read import json_lines

SEED_CHAT: Final = Path(__file__).with_name("seed_chat.jsonl")
"""Our own beginning of a chat; those of MSC are not ours to ship."""

SPEAKERS: Final = "Alex", "Bob"
PARTS: Final = ("first third", "middle third", "last third")
WINDOW_TURNS: Final = 8  # A.2.3: "a sliding window of the most recent 8 turns"
ROUNDS_A_STEP: Final = 2  # A.2.3: "the next 2 rounds of dialogue"
ATTEMPTS: Final = 3
"""Small models break the turn order now and then; the same prompt with another seed mends most."""

TEMPERATURE: Final = 0.7

_TURN: Final = re.compile(r"^\W*(Alex|Bob)\W*:\W*(\S.*?)\s*$", re.MULTILINE)
_STEP_TOKENS: Final = 400  # four turns of up to three sentences
_QUESTIONS_TOKENS: Final = 1024
_PART_TURNS: Final = 40
"""Of a third that a model is shown at once: a longer part would not fit a small model."""


@dataclass(frozen=True, slots=True)
class GeneratedTurn:
    """One utterance of a generated chat."""

    name: str
    content: str

    def __str__(self) -> str:
        return f"{self.name}: {self.content}"


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """A generated question and the answer the chat gives it."""

    question: str
    response: str


def read_chat(path: Path) -> list[GeneratedTurn]:
    """A chat from JSON lines with ``name`` and ``content``. Raise InputError."""
    try:
        return [GeneratedTurn(row["name"], row["content"]) for row in json_lines(path)]
    except KeyError as error:
        raise InputError(
            f"{path}: a line has no {error}; each needs a name and a content"
        ) from error


def session(
    chat: Sequence[GeneratedTurn], rounds: int, questions: int, llm: LLM, *, seed: int = 0
) -> dict[str, Any]:
    """A session of MSC-E: a chat of so many rounds, and so many questions about each third.

    Raises:
        InputError: the chat does not alternate between Alex and Bob, or ends with Alex.
        LLMReplyError: the model breaks the turn order, or makes no questions.
    """
    turns = [*chat, *extend_chat(chat, rounds, llm, seed=seed)]
    borders = [2 * (len(turns) // 2 * third // len(PARTS)) for third in range(len(PARTS) + 1)]
    asked: list[Mapping[str, str]] = []
    for part, start, end in zip(PARTS, borders, borders[1:], strict=False):
        made = ask_about(turns[start:end][:_PART_TURNS], questions, llm, seed=seed)
        asked += [{**asdict(question), "part": part} for question in made]
    return {"turns": [asdict(turn) for turn in turns], "questions": asked}


def extend_chat(
    chat: Sequence[GeneratedTurn], rounds: int, llm: LLM, *, seed: int = 0
) -> Iterator[GeneratedTurn]:
    """The turns that carry ``chat`` on until it has ``rounds`` rounds, two rounds a call."""
    if len(chat) % 2 or _in_order(chat) < len(chat):
        raise InputError(
            "the chat must alternate between Alex and Bob, begin with Alex, end with Bob"
        )
    turns = list(chat)
    while len(turns) < 2 * rounds:
        step = min(ROUNDS_A_STEP, rounds - len(turns) // 2)
        for turn in _continuation(turns[-WINDOW_TURNS:], step, llm, seed + len(turns)):
            turns.append(turn)
            yield turn


def ask_about(
    chat: Sequence[GeneratedTurn], count: int, llm: LLM, *, seed: int = 0
) -> list[GeneratedQuestion]:
    """``count`` questions, or as many as the model makes, whose answers are in ``chat``."""
    from treering.llm.structured import ask_structured  # needs the extra, unlike carrying on a chat

    prompt = load("memtree_questions").fill(n_q=str(count), chat_hist="\n".join(map(str, chat)))
    asked = ask_structured(
        llm,
        prompt,
        list[GeneratedQuestion],
        max_tokens=_QUESTIONS_TOKENS,
        seed=seed,
    )
    return asked[:count]


def _continuation(
    recent: Sequence[GeneratedTurn], rounds: int, llm: LLM, seed: int
) -> list[GeneratedTurn]:
    history = "\n".join(map(str, recent))
    prompt = load("memtree_extend").fill(n_rounds=str(rounds), recent_chat_hist=history)
    text = ""
    for attempt in range(ATTEMPTS):
        text = llm.complete(
            [Message("user", prompt)],
            max_tokens=_STEP_TOKENS,
            temperature=TEMPERATURE,
            seed=seed * ATTEMPTS + attempt,
        ).text
        turns = [GeneratedTurn(speaker, utterance) for speaker, utterance in _TURN.findall(text)]
        in_order = turns[: _in_order(turns) // 2 * 2][: 2 * rounds]
        if in_order:
            return in_order
    raise LLMReplyError(f"no turns of Alex and Bob in {ATTEMPTS} replies, the last: {text[:200]!r}")


def _in_order(turns: Sequence[GeneratedTurn]) -> int:
    """How many turns at the head alternate as they should, Alex first."""
    expected = (turn.name == SPEAKERS[place % 2] for place, turn in enumerate(turns))
    return next((place for place, right in enumerate(expected) if not right), len(turns))
