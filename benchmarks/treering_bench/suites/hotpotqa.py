"""HotpotQA: two-hop questions over Wikipedia paragraphs (Yang et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treering_bench.read import json_items, only_file
from treering_bench.registry import Benchmark, DataSource, register
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion


def load(path: Path) -> Iterator[Task]:
    """One task: the paragraphs of all questions are pooled, so that there is much to search.

    A paragraph is its own document and evidence unit, named by its title, which is unique in
    Wikipedia.
    """
    passages: dict[str, Document] = {}
    questions = []
    for row in json_items(only_file(path, "hotpot_*.json")):
        for title, sentences in row["context"]:
            text = f"{title}: {''.join(sentences)}"
            passages.setdefault(title, Document(title, (DocumentPiece(title, text),)))
        evidence = frozenset(title for title, _ in row["supporting_facts"])
        asked = TaskQuestion(row["_id"], row["question"], (row["answer"],), evidence, row["type"])
        questions.append(asked)
    yield Task("wikipedia", tuple(passages.values()), tuple(questions))


register(
    Benchmark(
        name="hotpotqa",
        title="HotpotQA (pooled paragraphs)",
        load=load,
        headline="recall@5",
        data=DataSource(
            url="https://hotpotqa.github.io (hotpot_dev_distractor_v1.json)",
            licence="CC BY-SA 4.0",
            files="hotpot_dev_distractor_v1.json, or a part of it",
        ),
    )
)
