"""Changes of facts, measured: the rules and a model on the pairs written by hand, chats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from test_suites import write
from treering.llm.scripted import ScriptedLLM
from treering_bench.change_pairs import CHANGED, MISSED, UNCHANGED
from treering_bench.fact_changes import by_model, by_rules, found_in, of_statements
from treering_bench.task import Document, DocumentPiece, Task
from worlds import Bench


def test_the_rules_have_the_recall_that_the_pairs_say() -> None:
    figures = by_rules()
    assert figures["recall"] == pytest.approx(len(CHANGED) / (len(CHANGED) + len(MISSED)), abs=1e-3)
    assert (figures["precision"], figures["false alarms"]) == (1.0, 0)
    assert figures["of"] == len(UNCHANGED)


def test_a_model_that_calls_every_pair_a_change_is_not_to_be_believed() -> None:
    figures = by_model(ScriptedLLM(lambda _: "CHANGED"))
    assert (figures["recall"], figures["false alarms"]) == (1.0, len(UNCHANGED))
    assert figures["controls right"] == 4


def test_a_verdict_that_cannot_be_read_is_no_change() -> None:
    figures = by_model(ScriptedLLM(lambda _: "I could not say."))
    assert (figures["recall"], figures["false alarms"]) == (0.0, 0)


def test_statements_that_somebody_else_wrote_are_measured() -> None:
    rows = [
        {"text": "I moved to Porto.", "value": "porto"},
        {"text": "Where I dwell is a secret.", "value": "secret"},
        {"text": "I would love to live in Porto.", "value": None},
        {"text": "I live in Porto.", "value": None},
        {"older": "I live in Porto.", "newer": "I love Rome."},
        {"older": "I live in Porto.", "newer": "I moved to Rome."},
    ]
    figures = of_statements([json.dumps(row) for row in rows] + [""])
    assert figures == {
        "statements": 2,
        "recall": 0.5,
        "missed": ["Where I dwell is a secret."],
        "misleading": 4,
        "false alarms": ["I live in Porto.", ("I live in Porto.", "I moved to Rome.")],
    }


def test_changes_in_chats_are_listed_to_be_read() -> None:
    turns = ("I live in Berlin.", "It rains.", "I moved to Porto last week.")
    pieces = tuple(DocumentPiece(str(n), text, "Ana") for n, text in enumerate(turns))
    told = found_in([Task("chat", (Document("s", pieces, chat=True),), ())])
    assert told["pairs"] == [(turns[0], turns[2])]
    assert (told["turns"], told["statements"]) == (3, 2)


def test_the_command_reads_locomo(bench: Bench, tmp_path: Path) -> None:
    turn = {"speaker": "Ana", "dia_id": "D1:1", "text": "I live in Berlin."}
    chat = {
        "speaker_a": "Ana",
        "session_1": [turn],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
    }
    data = write(
        tmp_path / "locomo1.json", json.dumps([{"sample_id": "c", "conversation": chat, "qa": []}])
    )
    told = bench.object("facts", "--data", data, "--json")
    assert told["locomo"] == {"turns": 1, "statements": 1, "pairs": []}
