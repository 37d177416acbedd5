"""MemoChat's instruction test set: a model writes memos, chooses among them, and chats with them.

The prompts are those of the rows, as printed in the paper. What a model replies is scored as it is:
there is no repair and no second try. Summaries and chats are compared by BERTScore over the bundled
embedding model's tokens, unscaled, so these figures compare with each other and not with table 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from treering.llm.contract import LLM, Message, Usage
from treering.llm.structured import read_json
from treering.views.memos.choose import read as read_choice
from treering_bench.metrics.memos import (
    MatchCounts,
    MemoEntry,
    Similarity,
    choices,
    summaries,
    topics,
)
from treering_bench.read import json_lines, only_file
from treering_bench.run import Progress

Stage = Literal["writing", "retrieval", "chatting"]
MAX_OPTIONS = 1_000
TEMPERATURE = 0.2  # MemoChat, table 2
_USAGE = ("calls", "prompt_tokens", "completion_tokens")
REPLY_TOKENS: dict[Stage, int] = {"writing": 640, "retrieval": 24, "chatting": 160}
"""The longest references of the test set have about half as many."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One row: its prompt, its reference, and where it comes from (dialogsum or topiocqa)."""

    number: int
    stage: Stage
    origin: str
    text: str
    answer: str

    @property
    def kind(self) -> str:
        """Stage and origin, as the data names it."""
        return f"{self.stage}_{self.origin}"


@dataclass(frozen=True, slots=True)
class InstructionScores:
    """The scores of a model's replies. ``similar`` is the sum of chat similarities over ``chats``.

    ``unread`` are replies without a list of entries or an option number: they match nothing.
    """

    topic: MatchCounts = field(default_factory=MatchCounts)
    summary: MatchCounts = field(default_factory=MatchCounts)
    summary_similar: MatchCounts = field(default_factory=MatchCounts)
    choice: MatchCounts = field(default_factory=MatchCounts)
    similar: float = 0.0
    chats: int = 0
    unread: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def chat_similarity(self) -> float:
        """Mean similarity of replies and references."""
        return self.similar / self.chats if self.chats else 0.0


def instructions(path: Path, most: int | None = None) -> Iterator[Instruction]:
    """The rows of the test set, at most so many of each stage and origin."""
    seen: Counter[str] = Counter()
    for number, row in enumerate(json_lines(only_file(path, "test*.jsonl"))):
        stage, _, origin = str(row["type"]).partition("_")
        if stage in REPLY_TOKENS:
            instruction = Instruction(number, stage, origin, row["text"], str(row["answer"]))
            seen[instruction.kind] += 1
            if most is None or seen[instruction.kind] <= most:
                yield instruction


def evaluate(
    rows: Sequence[Instruction],
    llm: LLM,
    similarity: Similarity,
    temperature: float = TEMPERATURE,
    progress: Progress | None = None,
) -> InstructionScores:
    """Ask a model every row and score its replies. Raises the model's errors."""
    total = InstructionScores()
    for done, row in enumerate(rows, 1):
        reply = llm.complete(
            [Message("user", row.text)],
            max_tokens=REPLY_TOKENS[row.stage],
            temperature=temperature,
            seed=0,
        )
        total = replace(
            _scored(total, row, reply.text, similarity), usage=total.usage + reply.usage
        )
        if progress:
            progress(done, len(rows), row.kind)
    return total


def figures(scores: InstructionScores) -> dict[str, Any]:
    """The figures of table 3 of the paper over all entries of all rows, replies that could not be
    read, and the cost.
    """
    by_range = {
        "topic": scores.topic,
        "summary_range": scores.summary,
        "summary_bert_score": scores.summary_similar,
        "choice": scores.choice,
    }
    return {
        **{name: counts.figures() for name, counts in by_range.items()},
        "chat_bert_score": round(scores.chat_similarity, 4),
        "unread": scores.unread,
        "usage": {name: getattr(scores.usage, name) for name in _USAGE},
    }


def read_spans(text: str) -> list[MemoEntry] | None:
    """The memo entries in a reply, without those that cannot be read; None if it is not a list."""
    try:
        entries = read_json(text)
    except ValueError:
        return None
    if not isinstance(entries, list):
        return None
    return [span for entry in entries if (span := _span(entry)) is not None]


def _scored(
    total: InstructionScores, row: Instruction, reply: str, similarity: Similarity
) -> InstructionScores:
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


def _span(entry: object) -> MemoEntry | None:
    if not isinstance(entry, dict):
        return None
    start, end = entry.get("start"), entry.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    return MemoEntry(str(entry.get("topic", "")), str(entry.get("summary", "")), start, end)
