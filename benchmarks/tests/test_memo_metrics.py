"""Metrics of memos: hand-worked examples, and the instruction test set with a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from treering.arrays import Floats
from treering.llm.scripted import ScriptedLLM
from treering_bench.instructions import evaluate, instructions, read_spans
from treering_bench.metrics.memos import (
    MatchCounts,
    MemoEntry,
    bert_score,
    choices,
    summaries,
    topics,
)
from worlds import Bench

REFERENCE = [MemoEntry("Porto", "user moved.", 1, 4), MemoEntry("numbers", "user counts.", 5, 8)]
WORDS = {"user": 0, "moved": 1, "counts": 2, "sleeps": 3}


def one_hot(text: str) -> Floats:
    places = [WORDS[word.strip(".")] for word in text.split()]
    return np.eye(len(WORDS), dtype=np.float32)[places]


def test_topics_count_where_the_range_and_the_words_are_the_reference_s() -> None:
    predicted = [
        MemoEntry("porto ", "", 1, 4),
        MemoEntry("digits", "", 5, 8),
        MemoEntry("Porto", "", 9, 9),
    ]
    found = topics(predicted, REFERENCE)
    assert found.precision == pytest.approx(1 / 3)
    assert found.recall == 1 / 2
    assert found.f1 == pytest.approx(2 * 1 / (3 + 2))


def test_summaries_count_by_range_and_then_by_likeness() -> None:
    predicted = [MemoEntry("a", "user moved.", 1, 4), MemoEntry("b", "user sleeps.", 5, 8)]
    assert summaries(predicted, REFERENCE).f1 == 1.0
    # "user sleeps" shares one of two tokens with "user counts": precision, recall and F1 are 1/2.
    assert summaries(predicted, REFERENCE, bert_score(one_hot)).f1 == pytest.approx(0.75)


def test_a_range_that_is_off_by_one_matches_nothing() -> None:
    assert topics([MemoEntry("Porto", "", 1, 5)], REFERENCE).f1 == 0.0


def test_bert_score_matches_every_token_with_its_likeliest() -> None:
    score = bert_score(one_hot)
    assert score("user moved", "moved user") == 1.0
    # Precision 1/1, recall 1/2.
    assert score("user", "user moved") == pytest.approx(2 / 3)
    assert score("moved", "sleeps") == 0.0
    assert score("", "user") == 0.0


def test_sums_of_rows_are_micro_averaged() -> None:
    total = choices(frozenset({1, 2}), frozenset({1})) + choices(frozenset(), frozenset({3}))
    assert total == MatchCounts(1, 2, 2)
    assert (total.precision, total.recall, total.f1) == (0.5, 0.5, 0.5)
    assert MatchCounts().f1 == 0.0


def test_a_reply_without_a_list_is_unread_and_bad_entries_are_left_out() -> None:
    assert read_spans("I cannot do that.") is None
    assert read_spans('{"topic": "a"}') is None
    assert read_spans('[{"topic": "a", "start": 1, "end": 2}, {"topic": "b"}, 3]') == [
        MemoEntry("a", "", 1, 2)
    ]


def written(path: Path) -> Path:
    """A test set of four rows, whose third and fourth stage have one each."""
    reference = [{"topic": "a", "summary": "user moved", "start": 1, "end": 2}]
    no_summary = [{"topic": "a", "start": 1, "end": 2}]
    rows = [
        {"type": "writing_dialogsum", "text": "Write.", "answer": json.dumps(reference)},
        {"type": "writing_topiocqa", "text": "Write topics.", "answer": json.dumps(no_summary)},
        {"type": "retrieval_dialogsum", "text": "Choose.", "answer": "1#2"},
        {"type": "chatting_dialogsum", "text": "Chat.", "answer": "user counts"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


REPLIES = (
    '[{"topic": "a", "summary": "user moved", "start": 1, "end": 2}]',
    "Sorry.",
    "2",
    "user sleeps",
)


def test_the_three_stages_of_the_test_set_are_scored(tmp_path: Path) -> None:
    rows = list(instructions(written(tmp_path / "test.jsonl")))
    llm = ScriptedLLM(REPLIES)
    scores = evaluate(rows, llm, bert_score(one_hot))
    assert scores.topic == MatchCounts(1, 1, 2)
    assert scores.summary == scores.summary_similar == MatchCounts(1, 1, 1)
    assert scores.choice == MatchCounts(1, 1, 2)
    assert scores.chat_similarity == pytest.approx(0.5)
    assert (scores.unread, scores.chats, scores.usage.calls) == (1, 1, 4)
    assert [request.text for request in llm.requests] == [row.text for row in rows]


def test_a_limit_is_of_each_stage_and_origin(tmp_path: Path) -> None:
    path = written(tmp_path / "test.jsonl")
    path.write_text(path.read_text() * 3)
    kinds = [row.kind for row in instructions(path, 1)]
    assert len(kinds) == len(set(kinds)) == 4
    assert len(list(instructions(path))) == 12


def test_the_command_prints_the_figures_of_table_3(bench: Bench, tmp_path: Path) -> None:
    data = written(tmp_path / "test.jsonl")
    found = bench.object("instructions", "--data", data, *bench.model("\n".join(REPLIES)), "--json")
    assert found["rows"] == 4
    assert found["topic"] == {"precision": 1.0, "recall": 0.5, "f1": 0.6667}
    assert found["choice"]["f1"] == 0.6667
    assert found["unread"] == 1
