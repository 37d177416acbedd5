"""2WikiMultihopQA: questions whose answers need two to four Wikipedia passages (Ho et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treering_bench.read import json_items, json_lines, only_file
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion


def load(path: Path) -> Iterator[Task]:
    """One task: the passages of the corpus, each a document that its title names."""
    passages = {
        row["title"]: DocumentPiece(row["title"], f"{row['title']}: {row['text']}")
        for row in json_items(only_file(path, "*corpus.json"))
    }
    questions = tuple(
        TaskQuestion(
            str(number),
            row["question"],
            evidence=frozenset(row["gold_titles"]),
            category=f"{len(row['gold_titles'])} passages",
        )
        for number, row in enumerate(json_lines(only_file(path, "*gold_titles.jsonl")))
    )
    documents = tuple(Document(title, (piece,)) for title, piece in passages.items())
    yield Task("wikipedia", documents, questions)
