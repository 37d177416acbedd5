"""QuALITY: long articles with four-choice questions (Pang et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from treering_bench.read import Row, json_lines, only_file
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion


def load(path: Path) -> Iterator[Task]:
    """One task an article; no evidence is marked.

    ``path`` is a published ``QuALITY.v1.*`` file, or a folder with ``articles.jsonl`` and
    ``questions.jsonl``.
    """
    if (path / "articles.jsonl").exists():
        yield from _from_lines(path)
    else:
        yield from _from_published(only_file(path, "QuALITY.v*"))


def load_open(path: Path) -> Iterator[Task]:
    """The same articles and questions, asked without their options."""
    for task in load(path):
        asked = tuple(replace(question, options=()) for question in task.questions)
        yield replace(task, questions=asked)


def _from_published(path: Path) -> Iterator[Task]:
    # The same article comes in several lines, each with another writer's questions.
    asked: dict[str, list[TaskQuestion]] = {}
    article: dict[str, str] = {}
    for row in json_lines(path):
        key = str(row["article_id"])
        article[key] = row["article"]
        asked.setdefault(key, []).extend(_published(question) for question in row["questions"])
    for key, text in article.items():
        yield _task(key, text, asked[key])


def _published(row: Row) -> TaskQuestion:
    options = tuple(row["options"])
    gold = row.get("gold_label")  # absent in the hidden test split; counted from 1
    return TaskQuestion(
        id=row["question_unique_id"],
        text=row["question"],
        answers=(options[gold - 1],) if gold else (),
        options=options,
        category="hard" if row["difficult"] else "easy",
    )


def _from_lines(path: Path) -> Iterator[Task]:
    asked: dict[int, list[TaskQuestion]] = {}
    for row in json_lines(path / "questions.jsonl"):
        options = row["options"]
        question = TaskQuestion(
            id=row["qid"],
            text=row["question"],
            answers=(options[row["answer"]],),
            options=tuple(options.values()),
        )
        asked.setdefault(row["doc"], []).append(question)
    for row in json_lines(path / "articles.jsonl"):
        yield _task(str(row["doc"]), row["text"], asked.get(row["doc"], []))


def _task(name: str, text: str, asked: list[TaskQuestion]) -> Task:
    article = Document(source=f"article {name}", pieces=(DocumentPiece(unit=name, text=text),))
    return Task(name, (article,), tuple(asked))
