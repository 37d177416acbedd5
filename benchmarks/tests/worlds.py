"""A small world of our own: two chats and a story, and an embedder that needs no model.

Servers and commands that are measured are forked as other programs of tests: ``tests/programs.py``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

from treering.arrays import Floats
from treering.llm.contract import LLM
from treering.memory import Memory
from treering_bench.cli import app
from treering_bench.space import TaskSpace
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

START = datetime(2026, 1, 1, tzinfo=UTC)

SAID = (
    ("Ana", "My sister moved to Porto in spring."),
    ("Ben", "How does she like the river there?"),
    ("Ana", "She rows on it every morning."),
    ("Ben", "I bought a red bicycle yesterday."),
    ("Ana", "Mine was stolen last week."),
    ("Ben", "The library closes at noon on Fridays."),
)


class BagOfWords:
    """Hashed words as vectors: equal words, equal directions."""

    name = "bag-of-words"
    dimension = 64

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[str, ...], bool]] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        self.calls.append((tuple(texts), query))
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Floats:
        vector = np.full(self.dimension, 1e-3, dtype=np.float32)
        for word in text.lower().replace("?", " ").replace(".", " ").split():
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.dimension] += 1
        return vector


def chat_task(space: str = "chat") -> Task:
    pieces = tuple(
        DocumentPiece(f"D{n}", text, speaker, at=START + timedelta(days=n))
        for n, (speaker, text) in enumerate(SAID)
    )
    documents = (
        Document("session 1", pieces[:3], chat=True),
        Document("session 2", pieces[3:], chat=True),
    )
    questions = (
        TaskQuestion(
            "1", "Where did my sister go in spring?", ("Porto",), frozenset({"D0"}), "one"
        ),
        TaskQuestion("2", "Who has a bicycle?", ("Ben",), frozenset({"D3", "D4"}), "two"),
        TaskQuestion("3", "What is the weather?", ("not said",), frozenset(), "none"),
    )
    return Task(space, documents, questions)


@contextmanager
def remembered(
    folder: Path, task: Task, embedder: BagOfWords, llm: LLM | None = None
) -> Iterator[TaskSpace]:
    """A task in a memory of its own."""
    with (
        Memory.open(folder / "bench.db", embedder=embedder, llm=llm) as memory,
        TaskSpace(memory, task, embedder, count=len) as space,
    ):
        space.remember()
        yield space


class Bench:
    """Runs ``treering-bench`` in this process, with models that need no weights."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, *arguments: object) -> Result:
        return CliRunner().invoke(app, [*map(str, arguments)])

    def model(self, replies: str) -> tuple[str, ...]:
        """Options for a model that gives these replies, one a line; they are kept."""
        script = self._folder / "script"
        script.write_text(replies)
        kept = self._folder / "kept" / "replies.jsonl"
        return "--llm", f"scripted#{script}", "--replies", str(kept)

    def object(self, *arguments: object) -> dict[str, Any]:
        """The object that a command prints under ``--json``."""
        result = self(*arguments)
        assert result.exit_code == 0, result.output
        printed: dict[str, Any] = json.loads(result.stdout)
        return printed
