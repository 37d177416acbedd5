"""LiHua-World: one person's year of chat logs (Fan et al. 2025, MiniRAG)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from treering.errors import InputError
from treering_bench.read import json_lines, only_file
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

_NAME = re.compile(r"\d{8}(_\d{1,4})?")
_TIME = re.compile(r"Time:\s*(\d{8})_(\d\d?):?(\d\d)")
_EVIDENCE = re.compile(r"(\d{8})_(\d\d):?(\d\d)")
_MESSAGE = re.compile(r"([A-Za-z]{1,40}):\s*(.*)")


def load(path: Path) -> Iterator[Task]:
    """One task with the whole year; the evidence is log files, the pieces are messages.

    ``path`` is a folder that holds the published ``query_set.json`` and the unpacked ``.txt``
    logs, at any depth, or one with ``docs.jsonl`` and ``queries.jsonl``.
    """
    if (path / "docs.jsonl").exists():
        logs = {row["doc_id"]: row["text"] for row in json_lines(path / "docs.jsonl")}
        questions = list(_from_lines(path / "queries.jsonl"))
    else:
        logs = {file.stem: file.read_text(encoding="utf-8") for file in path.rglob("*.txt")}
        questions = list(_from_published(only_file(path, "**/query_set.json")))
    documents = tuple(_document(name, logs[name]) for name in sorted(logs) if _NAME.fullmatch(name))
    if not documents:
        raise InputError(f"{path} holds no log such as 20260105_1100.txt; unpack the data first")
    yield Task("lihua", documents, tuple(questions))


def _document(name: str, text: str) -> Document:
    first, _, rest = text.partition("\n")
    stamp = _TIME.match(first)
    at = datetime(*_calendar(*stamp.groups()), tzinfo=UTC) if stamp else None
    messages = _messages((rest if stamp else text).split("\n"))
    pieces = tuple(DocumentPiece(name, words, speaker, at=at) for speaker, words in messages)
    return Document(source=name, pieces=pieces, chat=True)


def _messages(lines: list[str]) -> Iterator[tuple[str | None, str]]:
    """Speaker and words of each message; a line without a speaker goes on with the message."""
    speaker, words = None, list[str]()
    for line in lines:
        if spoken := _MESSAGE.match(line):
            if words:
                yield speaker, "\n".join(words)
            speaker, words = spoken[1], [spoken[2]]
        elif line.strip():
            words.append(line.strip())
    if words:
        yield speaker, "\n".join(words)


def _calendar(day: str, hour: str, minute: str) -> tuple[int, int, int, int, int]:
    return int(day[:4]), int(day[4:6]), int(day[6:]), int(hour), int(minute)


def _from_lines(path: Path) -> Iterator[TaskQuestion]:
    for row in json_lines(path):
        gold = frozenset(row["gold_doc_ids"])
        yield TaskQuestion(row["id"], row["question"], (row["answer"],), gold, row["type"])


def evidence_files(text: str) -> frozenset[str]:
    """The log files that ``20260121_10:00<and>20260701_10:00`` names."""
    return frozenset("{}_{}{}".format(*files) for files in _EVIDENCE.findall(text))


def _from_published(path: Path) -> Iterator[TaskQuestion]:
    for number, row in json.loads(path.read_text(encoding="utf-8")).items():
        gold = evidence_files(row["evidence"])
        yield TaskQuestion(number, row["question"], (row["answer"],), gold, row["type"])
