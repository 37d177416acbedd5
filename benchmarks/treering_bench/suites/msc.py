"""Multi-Session Chat with questions about earlier sessions (Xu et al. 2022; Packer et al. 2023).

MSC-E are longer chats with questions about each third, made by ``treering-bench msc-e``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treering_bench.read import Row, files_of, json_items, json_lines, only_file
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

SPEAKERS = "Speaker 1", "Speaker 2"
ROLES = "user", "assistant"  # so that a round is two turns


def load(path: Path) -> Iterator[Task]:
    """One task a chat of five sessions; no evidence is marked (MSC-Self-Instruct, JSON lines)."""
    for number, row in enumerate(json_lines(only_file(path, "msc*.jsonl"))):
        sessions = [*(session["dialog"] for session in row["previous_dialogs"]), row["dialog"]]
        documents = tuple(_session(n, turns) for n, turns in enumerate(sessions, 1) if turns)
        asked = row["self_instruct"]
        question = TaskQuestion("Q", asked["B"], answers=(asked["A"],))
        yield Task(str(number), documents, (question,))


def load_extended(path: Path) -> Iterator[Task]:
    """One task a chat; the category of a question is the third of the chat that it is about."""
    for file in files_of(path, "*.json"):
        turns = list(json_items(file, "turns.item"))
        pieces = tuple(
            DocumentPiece(str(place), turn["content"], turn["name"], ROLES[place % 2])
            for place, turn in enumerate(turns)
        )
        questions = tuple(
            TaskQuestion(str(n), row["question"], (row["response"],), category=row["part"])
            for n, row in enumerate(json_items(file, "questions.item"))
        )
        yield Task(file.stem, (Document("chat", pieces, chat=True),), questions)


def _session(number: int, turns: list[Row]) -> Document:
    pieces = tuple(
        DocumentPiece(f"{number}:{place}", turn["text"], speaker=SPEAKERS[place % 2])
        for place, turn in enumerate(turns)
        if turn["text"]
    )
    return Document(f"session {number}", pieces, chat=True)
