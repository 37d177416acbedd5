"""A benchmark's task inside a memory: what was added, and passages found in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Any

from treering.bench.metrics.evidence import Passage
from treering.bench.task import Document, Piece, Question, Task
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.records import Hit

DEPTH = 100
"""Hits that a ranking is asked for: 2,000 tokens of the shortest turns."""

UNIT = "unit"  # the metadata key that carries a piece's evidence unit through the memory

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage with the raw scores and the time that baselines weigh it by."""

    passage: Passage
    bm25: float
    cosine: float
    at: datetime | None


class Space:
    """One task, remembered. Searching goes through the memory and nothing else."""

    def __init__(self, memory: Memory, task: Task, count: CountTokens = estimate_tokens) -> None:
        self.task = task
        self._memory = memory
        self._count = cache(count)  # policies find the same passages over and over
        self._last: tuple[Question, list[Scored]] | None = None

    def remember(self) -> None:
        """Add every document of the task, one source each."""
        for document in self.task.documents:
            self._memory.add(
                [_message(piece, document) for piece in document.pieces],
                source=document.source,
                kind="chat" if document.chat else "text",
            )

    def search(self, question: Question, **how: Any) -> list[Passage]:
        """The best fragments for a question; ``how`` goes to ``Memory.search``."""
        return [self._passage(hit) for hit in self._memory.search(question.text, k=DEPTH, **how)]

    def scored(self, question: Question) -> list[Scored]:
        """Every fragment with its raw scores for a question, in reading order.

        Kept for the last question, which several baselines ask one after the other.
        """
        if self._last is None or self._last[0] != question:
            hits = self._memory.search(question.text, k=self._fragments, relations=())
            found = sorted(map(self._scored, hits), key=lambda scored: scored.passage.place)
            self._last = question, found
        return self._last[1]

    def context(self, question: Question, budget: int) -> Passage:
        """``Memory.context`` for a question, as one passage."""
        context = self._memory.context(question.text, budget=budget, count_tokens=self._count)
        units = (str(hit.metadata[UNIT]) for shown in context.passages for hit in shown.hits)
        return Passage(tuple(dict.fromkeys(units)), context.tokens, str(context))

    @cached_property
    def _fragments(self) -> int:
        return self._memory.stats().fragments

    @cached_property
    def pieces(self) -> Sequence[Passage]:
        """Everything that was added, in reading order."""
        everything = [piece for document in self.task.documents for piece in document.pieces]
        shown = [_shown(piece.text, piece.speaker, piece.at) for piece in everything]
        return [
            Passage((piece.unit,), self._count(text), text, (place,))
            for place, (piece, text) in enumerate(zip(everything, shown, strict=True))
        ]

    @cached_property
    def now(self) -> datetime | None:
        """The time of the latest piece: when questions that name no time are asked."""
        times = [p.at for document in self.task.documents for p in document.pieces if p.at]
        return max(times, default=None)

    @cached_property
    def _order(self) -> dict[str, int]:
        """The place of each source in reading order."""
        return {document.source: n for n, document in enumerate(self.task.documents)}

    def _scored(self, hit: Hit) -> Scored:
        return Scored(self._passage(hit), hit.why.bm25 or 0.0, hit.why.cosine or 0.0, hit.at)

    def _passage(self, hit: Hit) -> Passage:
        text = _shown(hit.text, hit.speaker, hit.at)
        place = (self._order[hit.source], hit.position, hit.start)
        return Passage((str(hit.metadata[UNIT]),), self._count(text), text, place)


def _message(piece: Piece, document: Document) -> dict[str, Any]:
    message: dict[str, Any] = {"content": piece.text, "metadata": {UNIT: piece.unit}}
    if document.chat:
        message |= {"role": piece.role, "session": document.source}
    if piece.speaker:
        message["name"] = piece.speaker
    if piece.at:
        message["at"] = piece.at
    return message


def _shown(text: str, speaker: str | None, at: datetime | None) -> str:
    """A piece as every policy shows it to a model: with its day and who said it."""
    day = f"({at:%Y-%m-%d}) " if at else ""
    said = f"{speaker}: " if speaker else ""
    return f"{day}{said}{text}"
