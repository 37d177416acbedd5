"""FairytaleQA: children's stories in sections, questions with their sections (Xu et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from treering.errors import InputError
from treering_bench.read import csv_rows, json_lines
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

_STORY = "-story.csv"
_ANSWERS = tuple(f"answer{n}" for n in range(1, 7))


def load(path: Path) -> Iterator[Task]:
    """One task a story, one piece a section.

    ``path`` is a checkout of the repository (or a part that holds ``section-stories`` beside
    ``questions``), or a folder with ``stories.jsonl`` and ``questions.jsonl``.
    """
    if (path / "stories.jsonl").exists():
        yield from _from_lines(path)
    else:
        yield from _from_checkout(path)


def _from_lines(path: Path) -> Iterator[Task]:
    asked: dict[str, list[TaskQuestion]] = {}
    for row in json_lines(path / "questions.jsonl"):
        question = TaskQuestion(
            id=row["question_id"],
            text=row["question"],
            answers=tuple(row["answers"]),
            evidence=frozenset(row["gold_sections"]),
            category=row["local_or_sum"],
        )
        asked.setdefault(row["story"], []).append(question)
    for row in json_lines(path / "stories.jsonl"):
        sections = [(section["section"], section["text"]) for section in row["sections"]]
        yield _task(row["story"], sections, asked.get(row["story"], []))


def _from_checkout(path: Path) -> Iterator[Task]:
    stories = sorted(path.glob(f"**/section-stories/**/*{_STORY}"))
    if not stories:
        raise InputError(f"{path} holds no section-stories/**/*{_STORY} and no stories.jsonl")
    for story in stories:
        name = story.name.removesuffix(_STORY)
        place = Path(*("questions" if part == "section-stories" else part for part in story.parts))
        sections = [(row["section"], row["text"]) for row in csv_rows(story)]
        asked = [_asked(row) for row in csv_rows(place.with_name(f"{name}-questions.csv"))]
        yield _task(name, sections, asked)


def _asked(row: dict[str, str]) -> TaskQuestion:
    return TaskQuestion(
        id=row["question_id"],
        text=row["question"],
        answers=tuple(row[column] for column in _ANSWERS if row.get(column)),
        evidence=frozenset(part.strip() for part in row["cor_section"].split(",") if part.strip()),
        category=row["local-or-sum"],
    )


def _task(name: str, sections: Iterable[tuple[str, str]], asked: Iterable[TaskQuestion]) -> Task:
    pieces = tuple(DocumentPiece(unit=section, text=text) for section, text in sections)
    return Task(name, (Document(source=name, pieces=pieces),), tuple(asked))
