"""MT-Bench+: chats of many topics that end by coming back to one (Lu et al. 2023, MemoChat)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from treering.llm.contract import LLM, Message
from treering.llm.prompts import load as load_prompt
from treering_bench.read import Row, json_items, only_file
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

REPLY_TOKENS = 400
"""Of a bot's turn: about what GPT-4 writes to these questions, so that a conversation is longer
than the window of 2,000 tokens. Cut shorter, every conversation fits, and no memory is needed."""

TEMPERATURE = 0.2  # MemoChat, table 2
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


def load_joined(path: Path) -> Iterator[Task]:
    """All conversations as one chat; units carry the name of their conversation."""
    pieces: list[DocumentPiece] = []
    questions: list[TaskQuestion] = []
    for task in load(path):
        [document], [asked] = task.documents, task.questions
        pieces += [replace(p, unit=f"{task.space} {p.unit}") for p in document.pieces]
        needed = frozenset(f"{task.space} {unit}" for unit in asked.evidence)
        questions.append(replace(asked, id=task.space, evidence=needed))
    yield Task("all", (Document("chat", tuple(pieces), chat=True),), tuple(questions))


def played_rows(path: Path, llm: LLM, *, seed: int = 0) -> Iterator[Row]:
    """The rows of the published file with the bot's turns written by ``llm``, all but the last.

    The model sees the round before. No memory has a part in it, so that all policies are measured
    on the same words. A turn that the file has already stays.
    """
    for row in json_items(only_file(path, "mtbenchplus*.json")):
        before: list[str] = []
        turns = row["conversations"][:-2]
        for user, bot in zip(turns[::2], turns[1::2], strict=True):
            said = f"user: {user['value']}"
            if not bot["value"]:
                asked = load_prompt("fragrel_chat_turn").fill(
                    evidences="None.",
                    recent=" ### ".join(before) or "None.",
                    input=f"{said} ### bot:",
                )
                reply = llm.complete(
                    [
                        Message("system", load_prompt("fragrel_chat").fill()),
                        Message("user", asked),
                    ],
                    max_tokens=REPLY_TOKENS,
                    temperature=TEMPERATURE,
                    seed=seed,
                )
                bot["value"] = reply.text.strip()
            before = [said, f"bot: {bot['value']}"]
        yield row


def _rounds(messages: list[Row]) -> Iterator[tuple[str, list[DocumentPiece]]]:
    for user, bot in zip(messages[::2], messages[1::2], strict=True):
        label = user["turn-info"]
        pieces = [DocumentPiece(label, user["value"], speaker="user", role="user")]
        if bot["value"]:
            pieces.append(DocumentPiece(label, bot["value"], speaker="bot", role="assistant"))
        yield label, pieces
