"""RealMem: months of sessions with an assistant on projects that go on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from treering_bench.read import Row, files_of, json_items
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion


def load(path: Path) -> Iterator[Task]:
    """One task a person; a document and evidence unit is a session, a piece a turn.

    A question is the user's next message, asked before its session is added. Its evidence is the
    earlier sessions that the reply to it drew on.
    """
    for file in files_of(path, "*.json"):
        sessions = list(json_items(file, "dialogues.item"))
        questions: list[TaskQuestion] = []
        earlier: set[str] = set()
        for session in sessions:
            questions += _questions(session, earlier)
            earlier.add(session["session_uuid"])
        yield Task(file.stem, tuple(map(_document, sessions)), tuple(questions))


def _document(session: Row) -> Document:
    unit, at = session["session_uuid"], _day(session)
    roles = [(turn["speaker"].lower(), turn["content"]) for turn in session["dialogue_turns"]]
    pieces = tuple(DocumentPiece(unit, text, role, role, at) for role, text in roles if text)
    return Document(unit, pieces, chat=True)


def _questions(session: Row, earlier: set[str]) -> Iterator[TaskQuestion]:
    for turn, reply in pairwise(session["dialogue_turns"]):
        if turn.get("is_query"):
            yield TaskQuestion(
                turn["query_id"],
                turn["content"],
                (reply["content"],),
                frozenset(reply.get("memory_session_uuids") or ()) & earlier,
                turn["category_name"],
                at=_day(session),
                before=session["session_uuid"],
            )


def _day(session: Row) -> datetime:
    return datetime.strptime(session["current_time"][:10], "%Y-%m-%d").replace(tzinfo=UTC)
