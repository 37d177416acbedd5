"""LongMemEval: one question about dozens to hundreds of assistant sessions (Wu et al. 2025)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from treering_bench.read import Row, json_items, only_file
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

_WEEKDAY = re.compile(r"\s*\(\w+\)\s*")


def load(path: Path) -> Iterator[Task]:
    """One task a question; the evidence is sessions, the pieces are messages.

    Questions that are to be declined (``_abs``) have no evidence to find.
    """
    for row in json_items(only_file(path, "longmemeval_s*.json")):
        declined = row["question_id"].endswith("_abs")
        question = TaskQuestion(
            id=row["question_id"],
            text=row["question"],
            answers=(str(row["answer"]),),
            evidence=frozenset() if declined else frozenset(row["answer_session_ids"]),
            category=row["question_type"],
            at=_time(row["question_date"]),
        )
        yield Task(row["question_id"], tuple(_sessions(row)), (question,))


def _sessions(row: Row) -> Iterator[Document]:
    columns = row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"]
    for number, (session, date, messages) in enumerate(zip(*columns, strict=True)):
        pieces = tuple(
            DocumentPiece(
                session, message["content"], message["role"], message["role"], _time(date)
            )
            for message in messages
            if message["content"]
        )
        if pieces:  # a session may come twice in one haystack, so its place is part of its name
            yield Document(f"{number} {session}", pieces, chat=True)


def _time(text: str) -> datetime:
    """``2023/04/10 (Mon) 17:50`` as a time; the data names no zone, so UTC is taken."""
    return datetime.strptime(_WEEKDAY.sub(" ", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
