"""MemoChat's instruction test set: a model writes memos, chooses among them, and chats with them.

The prompts are those of the rows, as printed in the paper, so that figures compare with its
table 3. What a model replies is scored as it is: there is no repair and no second try.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from treering.bench.metrics.memos import (
    Matched,
    Similarity,
    Span,
    choices,
    summaries,
    topics,
)
from treering.bench.read import json_lines, only_file
from treering.llm.contract import LLM, Message, Usage
from treering.llm.structured import read_json
from treering.memo.choose import read as read_choice

Stage = Literal["writing", "retrieval", "chatting"]
MAX_OPTIONS = 1_000
TEMPERATURE = 0.2  # MemoChat, table 2
REPLY_TOKENS: dict[Stage, int] = {"writing": 640, "retrieval": 24, "chatting": 160}
"""The longest references of the test set have about half as many."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One row: its prompt, its reference, and where it comes from (dialogsum or topiocqa)."""

    stage: Stage
    origin: str
    text: str
    answer: str


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model's replies scored. ``similar`` is the sum of chat similarities over ``chats``.

    ``unread`` are replies without a list of entries or an option number: they match nothing.
    """

    topic: Matched = field(default_factory=Matched)
    summary: Matched = field(default_factory=Matched)
    summary_similar: Matched = field(default_factory=Matched)
    choice: Matched = field(default_factory=Matched)
    similar: float = 0.0
    chats: int = 0
    unread: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def chat_similarity(self) -> float:
        """Mean similarity of replies and references."""
        return self.similar / self.chats if self.chats else 0.0


def instructions(path: Path) -> Iterator[Instruction]:
    """The rows of the test set."""
    for row in json_lines(only_file(path, "test*.jsonl")):
        stage, _, origin = str(row["type"]).partition("_")
        if stage in REPLY_TOKENS:
            yield Instruction(stage, origin, row["text"], str(row["answer"]))


def evaluate(rows: Iterable[Instruction], llm: LLM, similarity: Similarity) -> Scores:
    """Ask a model every row and score what it replies. Raises the model's errors."""
    total = Scores()
    for row in rows:
        reply = llm.complete(
            [Message("user", row.text)],
            max_tokens=REPLY_TOKENS[row.stage],
            temperature=TEMPERATURE,
            seed=0,
        )
        total = replace(
            _scored(total, row, reply.text, similarity), usage=total.usage + reply.usage
        )
    return total


def read_spans(text: str) -> list[Span] | None:
    """The entries of a memo in a reply, those that cannot be read left out; None if no list."""
    try:
        found = read_json(text)
    except ValueError:
        return None
    if not isinstance(found, list):
        return None
    return [span for one in found if (span := _span(one)) is not None]


def _scored(total: Scores, row: Instruction, reply: str, similarity: Similarity) -> Scores:
    if row.stage == "chatting":
        alike = similarity(reply, row.answer)
        return replace(total, similar=total.similar + alike, chats=total.chats + 1)
    if row.stage == "retrieval":
        chosen, right = read_choice(reply, MAX_OPTIONS), read_choice(row.answer, MAX_OPTIONS)
        matched = choices(frozenset(chosen or ()), frozenset(right or ()))
        return replace(total, choice=total.choice + matched, unread=total.unread + (chosen is None))
    spans, reference = read_spans(reply), read_spans(row.answer) or []
    written = replace(
        total,
        topic=total.topic + topics(spans or [], reference),
        unread=total.unread + (spans is None),
    )
    if not any(span.summary for span in reference):  # TopiOCQA has none
        return written
    return replace(
        written,
        summary=total.summary + summaries(spans or [], reference),
        summary_similar=total.summary_similar + summaries(spans or [], reference, similarity),
    )


def _span(entry: object) -> Span | None:
    if not isinstance(entry, dict):
        return None
    start, end = entry.get("start"), entry.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    return Span(str(entry.get("topic", "")), str(entry.get("summary", "")), start, end)
