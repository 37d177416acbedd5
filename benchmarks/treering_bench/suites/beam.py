"""BEAM: long chats with an assistant whose replies run to pages (Tavakoli et al. 2025)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from treering_bench.read import Row, files_of, json_items
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

_MARK = re.compile(r"\s*->->[\s\d,N/A]*$")
"""How a user's message ends: the numbers of its sources."""


def load(path: Path) -> Iterator[Task]:
    """One task a chat; a piece and evidence unit is a message, a document a batch of turns.

    Questions to which the chat holds no answer (abstention) have no evidence.
    """
    for file in files_of(path, "*.json"):
        # Each is one object: its parts are read one after another.
        documents = tuple(_documents(json_items(file, "chat.item")))
        [probing] = json_items(file, "probing_questions")
        questions = tuple(
            _question(f"{ability} {number}", ability, row)
            for ability, rows in probing.items()
            for number, row in enumerate(rows, start=1)
        )
        yield Task(file.stem, documents, questions)


def _documents(batches: Iterator[Row]) -> Iterator[Document]:
    at: datetime | None = None  # a time holds until the next one is named
    for batch in batches:
        pieces = []
        for message in (message for turn in batch["turns"] for message in turn):
            at = _time(message.get("time_anchor")) or at
            pieces.append(_piece(message, at))
        yield Document(f"batch {batch['batch_number']}", tuple(pieces), chat=True)


def _piece(message: Row, at: datetime | None) -> DocumentPiece:
    text = _MARK.sub("", message["content"])
    return DocumentPiece(str(message["id"]), text, message["role"], message["role"], at)


def _time(anchor: str | None) -> datetime | None:
    return datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC) if anchor else None


def _question(identity: str, ability: str, row: Row) -> TaskQuestion:
    answer = row.get("answer") or row.get("ideal_answer") or row.get("ideal_summary")
    evidence = frozenset(map(str, _ids(row.get("source_chat_ids"))))
    return TaskQuestion(
        identity, row["question"], (answer,) if answer else (), evidence, ability.replace("_", " ")
    )


def _ids(named: Any) -> Iterator[int]:
    """The messages that a question rests on: a list, or lists by name."""
    for part in named.values() if isinstance(named, dict) else named or ():
        if isinstance(part, int):
            yield part
        else:
            yield from _ids(part)
