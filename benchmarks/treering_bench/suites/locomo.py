"""LoCoMo: very long two-person chats in dated sessions (Maharana et al. 2024)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from treering_bench.read import Row, json_items, only_file
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "common-sense", 4: "single-hop", 5: "adversarial"}
TWISTED = 5
"""The category whose questions have no right answer, though two rows of it name one."""

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?(\d+):(\d+)")


def load(path: Path) -> Iterator[Task]:
    """One task a chat, one document a session, one piece a turn.

    Questions of category 5 ask for something that was not said that way. Their evidence is real,
    the turns they twist; but no answer to them is right, so they count for evidence alone.
    """
    for sample in json_items(only_file(path, "locomo*.json")):
        documents = tuple(_sessions(sample["conversation"]))
        turns = {piece.unit for document in documents for piece in document.pieces}
        questions = tuple(_question(number, row, turns) for number, row in enumerate(sample["qa"]))
        yield Task(space=sample["sample_id"], documents=documents, questions=questions)


def _sessions(conversation: Row) -> Iterator[Document]:
    numbers = sorted(int(m[1]) for key in conversation if (m := _SESSION.fullmatch(key)))
    for number in numbers:
        name = f"session_{number}"
        began = datetime.strptime(conversation[f"{name}_date_time"], "%I:%M %p on %d %B, %Y")
        at = began.replace(tzinfo=UTC)
        pieces = tuple(_turn(turn, at) for turn in conversation[name])
        if pieces:
            yield Document(source=name, pieces=pieces, chat=True)


def _turn(turn: Row, at: datetime) -> DocumentPiece:
    caption = turn.get("blip_caption")
    text = f"{turn['text']} [image: {caption}]" if caption else turn["text"]
    return DocumentPiece(unit=turn["dia_id"], text=text, speaker=turn["speaker"], at=at)


def _question(number: int, row: Row, turns: set[str]) -> TaskQuestion:
    # Some evidence entries hold two ids ("D8:6; D9:17") or a slip ("D:11:26"); what still names
    # no turn is left out.
    named = {f"D{s}:{t}" for entry in row["evidence"] for s, t in _TURN.findall(entry)}
    answerable = row["category"] != TWISTED
    return TaskQuestion(
        id=str(number),
        text=row["question"],
        answers=(str(row["answer"]),) if answerable else (),
        evidence=frozenset(named & turns),
        category=CATEGORIES[row["category"]],
        answerable=answerable,
    )
