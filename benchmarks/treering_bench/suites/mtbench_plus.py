"""MT-Bench+: chats of many topics that end by coming back to one (Lu et al. 2023, MemoChat)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from treering_bench.read import Row, json_items, only_file
from treering_bench.registry import Benchmark, DataSource, register
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

TOPIC = re.compile(r"[a-z]+-\d+")


def load(path: Path) -> Iterator[Task]:
    """One task a conversation; a piece is a message, an evidence unit a round.

    The published file leaves the bot's messages empty, for the model under test to write; a
    message with no text is not remembered.
    """
    for row in json_items(only_file(path, "mtbenchplus*.json")):
        *earlier, (label, last) = _rounds(row["conversations"])
        topics = set(TOPIC.findall(label))
        evidence = frozenset(label for label, _ in earlier if label.rpartition("-")[0] in topics)
        asked = TaskQuestion("Q", last[0].text, evidence=evidence, category=row["type"])
        pieces = tuple(piece for _, messages in earlier for piece in messages)
        yield Task(row["id"], (Document("chat", pieces, chat=True),), (asked,))


def _rounds(messages: list[Row]) -> Iterator[tuple[str, list[DocumentPiece]]]:
    for user, bot in zip(messages[::2], messages[1::2], strict=True):
        label = user["turn-info"]
        pieces = [DocumentPiece(label, user["value"], speaker="user", role="user")]
        if bot["value"]:
            pieces.append(DocumentPiece(label, bot["value"], speaker="bot", role="assistant"))
        yield label, pieces


register(
    Benchmark(
        name="mtbench-plus",
        title="MT-Bench+",
        load=load,
        prompt="chat",
        headline="recall@5",
        data=DataSource(
            url="https://github.com/LuJunru/MemoChat (data/mtbenchplus)",
            licence="MIT",
            files="mtbenchplus.json, or a part of it",
            sha256={
                "mtbenchplus27.json": (
                    "860629e3e72a7dac739f9bcb905dc7f1147edffbe3f7a453995c4d2e6f7313cc"
                )
            },
        ),
    )
)
