"""MultiHop-RAG: questions over several news articles (Tang and Yang 2024)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from treering_bench.read import Row, json_items, json_lines
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion


def load(path: Path) -> Iterator[Task]:
    """One task with all the news.

    ``path`` is a folder with the published ``corpus.json`` and ``MultiHopRAG.json``, where the
    evidence is the articles, or with ``facts.jsonl`` and ``queries.jsonl``, where only the facts
    themselves are to be found and each is its own evidence.
    """
    if (path / "facts.jsonl").exists():
        yield _from_facts(path)
    else:
        yield _from_published(path)


def _from_published(path: Path) -> Task:
    documents = tuple(
        Document(source=row["url"], pieces=(_piece(row["url"], row["body"], row),))
        for row in json_items(path / "corpus.json")
    )
    questions = tuple(
        TaskQuestion(
            id=str(number),
            text=row["query"],
            answers=(row["answer"],),
            evidence=frozenset(proof["url"] for proof in row["evidence_list"]),
            category=row["question_type"],
        )
        for number, row in enumerate(json_items(path / "MultiHopRAG.json"))
    )
    return Task("news", documents, questions)


def _from_facts(path: Path) -> Task:
    # A source holds what one article says: its facts are pieces of one document.
    articles: dict[str, list[DocumentPiece]] = {}
    for row in json_lines(path / "facts.jsonl"):
        articles.setdefault(row["url"], []).append(_piece(row["fact_id"], row["fact"], row))
    questions = tuple(
        TaskQuestion(
            id=row["id"],
            text=row["question"],
            answers=(row["answer"],),
            evidence=frozenset(row["gold_fact_ids"]),
            category=row["question_type"],
        )
        for row in json_lines(path / "queries.jsonl")
    )
    documents = tuple(Document(url, tuple(pieces)) for url, pieces in articles.items())
    return Task("news", documents, questions)


def _piece(unit: str, text: str, row: Row) -> DocumentPiece:
    # Questions name the paper and the date, so a piece carries its article's by-line.
    day = row["published_at"][:10]
    byline = f"{row['title']} ({row['source']}, {row['author']}, {day})"
    return DocumentPiece(unit, f"{byline}: {text}", at=datetime.fromisoformat(row["published_at"]))
