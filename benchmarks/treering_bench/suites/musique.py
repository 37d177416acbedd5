"""MuSiQue: two- to four-hop questions over Wikipedia paragraphs (Trivedi et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treering_bench.read import Row, json_lines, only_file
from treering_bench.registry import Benchmark, DataSource, register
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion


def load(path: Path) -> Iterator[Task]:
    """One task: the paragraphs of all questions are pooled, so that there is much to search.

    Several paragraphs share a title, so a paragraph is named by its title and its text.
    """
    passages: dict[str, Document] = {}
    questions = []
    for row in json_lines(only_file(path, "musique_*.jsonl")):
        evidence = set()
        for paragraph in row["paragraphs"]:
            text = f"{paragraph['title']}: {paragraph['paragraph_text']}"
            passages.setdefault(
                text, Document(f"passage {len(passages)}", (DocumentPiece(text, text),))
            )
            if paragraph["is_supporting"]:
                evidence.add(text)
        questions.append(_question(row, frozenset(evidence)))
    yield Task("wikipedia", tuple(passages.values()), tuple(questions))


def _question(row: Row, evidence: frozenset[str]) -> TaskQuestion:
    answers = (row["answer"], *row["answer_aliases"]) if row["answerable"] else ()
    hops = row["id"].partition("__")[0]
    return TaskQuestion(row["id"], row["question"], answers, evidence, hops)


register(
    Benchmark(
        name="musique",
        title="MuSiQue (pooled paragraphs)",
        load=load,
        headline="recall@5",
        data=DataSource(
            url="https://github.com/StonyBrookNLP/musique (musique_ans_v1.0_dev.jsonl)",
            licence="CC BY 4.0",
            files="musique_ans_v1.0_dev.jsonl, or a part of it",
        ),
    )
)
