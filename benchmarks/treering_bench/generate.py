"""MemTree's generators: a chat carried on to any length, and questions about it (A.2.3, A.2.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from treering.errors import InputError, LLMReplyError
from treering.llm.contract import LLM, Message
from treering_bench.prompts import load
from treering_bench.read import json_lines

SPEAKERS = "Alex", "Bob"
WINDOW_TURNS = 8  # A.2.3: "a sliding window of the most recent 8 turns"
ROUNDS_A_STEP = 2  # A.2.3: "the next 2 rounds of dialogue"
ATTEMPTS = 3
"""Small models break the turn order now and then; the same prompt with another seed mends most."""

_TURN = re.compile(r"^\W*(Alex|Bob)\W*:\W*(\S.*?)\s*$", re.MULTILINE)
_STEP_TOKENS = 400  # four turns of up to three sentences
_QUESTIONS_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class GeneratedTurn:
    """One utterance of a generated chat."""

    speaker: str
    text: str

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}"

    def message(self) -> dict[str, str]:
        """The turn as a message that a memory takes in."""
        return {"name": self.speaker, "content": self.text}


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """A generated question and the answer the chat gives it."""

    question: str
    response: str


def read_chat(path: Path) -> list[GeneratedTurn]:
    """A chat from JSON lines with ``name`` and ``content``. Raises InputError."""
    try:
        return [GeneratedTurn(row["name"], row["content"]) for row in json_lines(path)]
    except KeyError as error:
        raise InputError(
            f"{path}: a line has no {error}; each needs a name and a content"
        ) from error


def extend_chat(
    chat: Sequence[GeneratedTurn], rounds: int, llm: LLM, *, temperature: float = 0.7, seed: int = 0
) -> Iterator[GeneratedTurn]:
    """The turns that carry ``chat`` on until it has ``rounds`` rounds, two rounds a call.

    Raises:
        InputError: the chat does not alternate between Alex and Bob, or ends with Alex.
        LLMReplyError: the model breaks the turn order in every attempt.
    """
    _check_order(chat)
    turns = list(chat)
    while len(turns) < 2 * rounds:
        step = min(ROUNDS_A_STEP, rounds - len(turns) // 2)
        for turn in _continuation(turns[-WINDOW_TURNS:], step, llm, temperature, seed + len(turns)):
            turns.append(turn)
            yield turn


def ask_about(
    chat: Sequence[GeneratedTurn], count: int, llm: LLM, *, seed: int = 0
) -> list[GeneratedQuestion]:
    """``count`` questions, or as many as the model makes, whose answers are in ``chat``.

    Raises:
        LLMReplyError: the reply holds no list of questions with responses.
    """
    from treering.llm.structured import ask_structured  # needs the extra, unlike carrying on a chat

    prompt = load("memtree_questions").fill(n_q=str(count), chat_hist="\n".join(map(str, chat)))
    asked = ask_structured(
        llm,
        [Message("user", prompt)],
        list[GeneratedQuestion],
        max_tokens=_QUESTIONS_TOKENS,
        seed=seed,
    )
    return asked.value[:count]


def _continuation(
    recent: Sequence[GeneratedTurn], rounds: int, llm: LLM, temperature: float, seed: int
) -> list[GeneratedTurn]:
    history = "\n".join(map(str, recent))
    prompt = load("memtree_extend").fill(n_rounds=str(rounds), recent_chat_hist=history)
    text = ""
    for attempt in range(ATTEMPTS):
        text = llm.complete(
            [Message("user", prompt)],
            max_tokens=_STEP_TOKENS,
            temperature=temperature,
            seed=seed * ATTEMPTS + attempt,
        ).text
        turns = [GeneratedTurn(speaker, utterance) for speaker, utterance in _TURN.findall(text)]
        in_order = turns[: _in_order(turns) // 2 * 2][: 2 * rounds]
        if in_order:
            return in_order
    raise LLMReplyError(f"no turns of Alex and Bob in {ATTEMPTS} replies, the last: {text[:200]!r}")


def _in_order(turns: Sequence[GeneratedTurn]) -> int:
    """How many turns at the head alternate as they should, Alex first."""
    expected = (turn.speaker == SPEAKERS[place % 2] for place, turn in enumerate(turns))
    return next((place for place, right in enumerate(expected) if not right), len(turns))


def _check_order(chat: Sequence[GeneratedTurn]) -> None:
    if len(chat) % 2 or _in_order(chat) < len(chat):
        raise InputError(
            "the chat must alternate between Alex and Bob, begin with Alex, end with Bob"
        )
