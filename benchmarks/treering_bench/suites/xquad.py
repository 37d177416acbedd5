"""XQuAD: the same questions and paragraphs in twelve languages (Artetxe et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treering_bench.read import files_of, json_items
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion


def load(path: Path) -> Iterator[Task]:
    """One task a language; its paragraphs are documents of their own, and evidence as a whole."""
    for file in files_of(path, "xquad.*.json"):
        language = file.name.split(".")[1]
        documents: list[Document] = []
        questions: list[TaskQuestion] = []
        for article in json_items(file, "data.item"):
            for number, paragraph in enumerate(article["paragraphs"], start=1):
                unit = f"{article['title']} {number}"
                documents.append(Document(unit, (DocumentPiece(unit, paragraph["context"]),)))
                questions += (
                    TaskQuestion(
                        asked["id"],
                        asked["question"],
                        tuple(answer["text"] for answer in asked["answers"]),
                        frozenset((unit,)),
                        language,
                    )
                    for asked in paragraph["qas"]
                )
        yield Task(language, tuple(documents), tuple(questions))
