"""A small world of our own: two chats and a story, and an embedder that needs no model.

Servers and commands that are measured are forked as other programs of tests: ``tests/programs.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tests import programs
from tests.cli.conftest import PLUGINS, ROOT
from treering.arrays import Floats
from treering.bench import bulk_ingest, server_load
from treering.bench.perf import bystander, fresh
from treering.bench.space import TaskSpace
from treering.bench.task import Document, DocumentPiece, Task, TaskQuestion
from treering.cli.main import app
from treering.llm.contract import LLM
from treering.memory import Memory

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


@pytest.fixture(autouse=True)
def forked_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    forking = SimpleNamespace(
        Popen=programs.Program,
        run=programs.run,
        PIPE=subprocess.PIPE,
        DEVNULL=subprocess.DEVNULL,
    )
    for module in (bulk_ingest, server_load):
        monkeypatch.setattr(module, "subprocess", forking)
    context = get_context("forkserver")
    context.set_forkserver_preload([bystander.__name__, fresh.__name__])
    for module in (bystander, fresh):
        monkeypatch.setattr(module, "get_context", lambda way: context)


@pytest.fixture
def embedder() -> BagOfWords:
    return BagOfWords()


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


@pytest.fixture
def space(tmp_path: Path, embedder: BagOfWords) -> Iterator[TaskSpace]:
    with remembered(tmp_path, chat_task(), embedder) as found:
        yield found


class Bench:
    """Runs ``treering bench`` in this process, with models that need no weights."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, *arguments: object) -> Result:
        return CliRunner().invoke(app, ["bench", *map(str, arguments)])

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


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.syspath_prepend(PLUGINS)
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path)


@pytest.fixture
def with_plugins(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A server in another process knows the models of the tests, too."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), str(PLUGINS))))
    return bench
