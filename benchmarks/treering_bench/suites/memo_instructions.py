"""MemoChat's instruction data: choosing the memo topics that a query is about.

With a model all three stages are measured: :mod:`treering_bench.memos`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from treering_bench.read import Row, json_lines, only_file
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

_QUERY = re.compile(r"Query Sentence:\n(.*?)\nTopic Options:\n(.*?)\n```", re.DOTALL)
_OPTION = re.compile(r"^\((\d+)\)\s*(.*?)(?=\n\(\d+\)|\Z)", re.DOTALL | re.MULTILINE)
_NONE = "NOTO."


def load(path: Path) -> Iterator[Task]:
    """One task a "memo retrieval" row: its topic options are remembered, its query asked.

    The rows for writing memos and for chatting are no matter of retrieval; they are left out, as is
    the option "None of the others".
    """
    for number, row in enumerate(json_lines(only_file(path, "test*.jsonl"))):
        if row["type"].startswith("retrieval"):
            yield _task(str(number), row)


def _task(name: str, row: Row) -> Task:
    asked = _QUERY.search(row["text"])
    if asked is None:  # a row of another layout has no query to ask
        return Task(name, (), ())
    query, options = asked.groups()
    topics = {key: text for key, text in _OPTION.findall(options) if not text.startswith(_NONE)}
    documents = tuple(
        Document(f"topic {key}", (DocumentPiece(key, text),)) for key, text in topics.items()
    )
    evidence = frozenset(row["answer"].split("#")) & topics.keys()
    return Task(
        name, documents, (TaskQuestion("Q", query, evidence=evidence, category=row["type"]),)
    )
