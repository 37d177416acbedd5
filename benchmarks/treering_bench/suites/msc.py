"""Multi-Session Chat with questions about earlier sessions (Xu et al. 2022; Packer et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from treering_bench.read import Row, json_lines, only_file
from treering_bench.registry import Benchmark, DataSource, register
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

SPEAKERS = "Speaker 1", "Speaker 2"


def load(path: Path) -> Iterator[Task]:
    """One task a chat of five sessions; no evidence is marked (MSC-Self-Instruct, JSON lines)."""
    for number, row in enumerate(json_lines(only_file(path, "msc*.jsonl"))):
        sessions = [*(session["dialog"] for session in row["previous_dialogs"]), row["dialog"]]
        documents = tuple(_session(n, turns) for n, turns in enumerate(sessions, 1) if turns)
        asked = row["self_instruct"]
        question = TaskQuestion("Q", asked["B"], answers=(asked["A"],))
        yield Task(str(number), documents, (question,))


def _session(number: int, turns: list[Row]) -> Document:
    pieces = tuple(
        DocumentPiece(f"{number}:{place}", turn["text"], speaker=SPEAKERS[place % 2])
        for place, turn in enumerate(turns)
        if turn["text"]
    )
    return Document(f"session {number}", pieces, chat=True)


register(
    Benchmark(
        name="msc",
        title="Multi-Session Chat",
        load=load,
        headline="words@1000tokens",
        marked=False,
        data=DataSource(
            url="https://huggingface.co/datasets/MemGPT/MSC-Self-Instruct",
            licence="Apache-2.0 (MSC itself: CC BY 4.0)",
            files="msc_self_instruct.jsonl",
        ),
    )
)
