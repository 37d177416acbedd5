"""NarrativeQA: questions about whole books and film scripts (Kočiský et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treering.errors import InputError
from treering_bench.read import csv_rows, json_lines
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion


def load(path: Path) -> Iterator[Task]:
    """One task a story; no evidence is marked.

    ``path`` is a checkout in which ``download_stories.sh`` has been run (``documents.csv``,
    ``qaps.csv`` and ``tmp/ID.content``; stories not downloaded are left out), or a folder with
    ``stories.jsonl`` and ``questions.jsonl``.
    """
    if (path / "stories.jsonl").exists():
        yield from _from_lines(path)
    else:
        yield from _from_checkout(path)


def _from_checkout(path: Path) -> Iterator[Task]:
    asked: dict[str, list[TaskQuestion]] = {}
    for number, row in enumerate(csv_rows(path / "qaps.csv")):
        answers = tuple(row[column] for column in ("answer1", "answer2") if row[column])
        question = TaskQuestion(id=str(number), text=row["question"], answers=answers)
        asked.setdefault(row["document_id"], []).append(question)
    downloaded = 0
    for row in csv_rows(path / "documents.csv"):
        story = path / "tmp" / f"{row['document_id']}.content"
        if story.exists():
            downloaded += 1
            text = story.read_text(encoding="utf-8", errors="replace")
            yield _task(row["document_id"], text, asked.get(row["document_id"], []))
    if not downloaded:
        raise InputError(f"{path / 'tmp'} holds no story; run download_stories.sh there first")


def _from_lines(path: Path) -> Iterator[Task]:
    asked: dict[str, list[TaskQuestion]] = {}
    for number, row in enumerate(json_lines(path / "questions.jsonl")):
        question = TaskQuestion(id=str(number), text=row["question"], answers=(row["answer"],))
        asked.setdefault(row["doc"], []).append(question)
    for row in json_lines(path / "stories.jsonl"):
        yield _task(row["doc"], row["text"], asked.get(row["doc"], []))


def _task(name: str, text: str, asked: list[TaskQuestion]) -> Task:
    return Task(name, (Document(source=name, pieces=(DocumentPiece(name, text),)),), tuple(asked))
