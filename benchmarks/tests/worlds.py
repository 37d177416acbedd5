"""A small world of our own: two chats and a story, and an embedder that needs no model.

Servers and commands that are measured are forked as other programs of tests: ``tests/programs.py``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

from treering.arrays import Floats
from treering.cli.failures import INPUT
from treering.llm.contract import LLM
from treering_bench import questions
from treering_bench.cli import app
from treering_bench.options import RunOptions
from treering_bench.registry import Benchmark
from treering_bench.report import Scores
from treering_bench.runner import run
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
def remembered(task: Task, embedder: BagOfWords, llm: LLM | None = None) -> Iterator[TaskSpace]:
    """A task in a memory of its own, which counts characters."""
    with questions.remembered(task, embedder, llm, count=len) as space:
        space.remember()
        yield space


def measure(
    folder: Path,
    *names: str,
    loader: Callable[[Path], Iterator[Task]] | None = None,
    embedder: BagOfWords | None = None,
    marked: bool = True,
    prompt: str = "search-results",
    **options: Any,
) -> Scores:
    """Run a benchmark of our own: two chats, unless a loader is given."""
    data = write(folder / "data", "")
    load = loader or (lambda _: iter([chat_task("first"), chat_task("second")]))
    bench = Benchmark("locomo", "ours", load, prompt=prompt, marked=marked)
    given: Any = {"out": folder / "r.jsonl", "embedder": embedder or BagOfWords(), **options}
    chosen = RunOptions(data=data, policy=list(names), **given)
    return run(bench, chosen, lambda _: nullcontext(lambda *_: None)).scores


def write(path: Path, content: Any) -> Path:
    """A file with a text, or with JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def lines(*rows: Any) -> str:
    """JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


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
        printed: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
        return printed

    def refused(self, *arguments: Any) -> str:
        """The message of a command that is not run."""
        result = self(*arguments)
        assert result.exit_code == INPUT, result.output
        return " ".join(result.stderr.split())
