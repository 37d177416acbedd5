"""A tuned model beside an untuned one and beside answers that need none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.embedders import HashingEmbedder
from treering.errors import LLMNotConfigured, LLMUnavailable
from treering.llm.contract import Message
from treering.llm.scripted import ScriptedLLM
from treering.views.memos.choose import NONE_OF_THE_OTHERS, choose_prompt
from treering_bench.kept_replies import KeptReplies
from treering_bench.memo_tuning import TUNED, measure_tuning, tuned_model, tuned_table

TOPICS = [
    {"topic": "boats", "summary": "on boats", "start": 1, "end": 2},
    {"topic": "bread", "summary": "on bread", "start": 3, "end": 4},
]
LINES = "\n".join(f"(line {number}) user: word {number}" for number in range(1, 5))
ASKED = [Message("user", "Which?")]


def write(folder: Path) -> Path:
    options = ["boats. on boats", "bread. on bread", NONE_OF_THE_OTHERS]
    rows = [
        {"type": "writing_x", "text": LINES, "answer": json.dumps(TOPICS)},
        {"type": "retrieval_x", "text": choose_prompt("bread?", options), "answer": "2"},
    ]
    (folder / "test.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return folder


def test_a_model_is_measured_beside_what_is_trivial(tmp_path: Path) -> None:
    whole = [{"topic": "all", "summary": "all of it", "start": 1, "end": 4}]
    models = {
        "untuned": ScriptedLLM([json.dumps(whole), "I cannot say"]),
        TUNED: ScriptedLLM([json.dumps(TOPICS), "2"]),
    }
    told = measure_tuning(
        write(tmp_path), models, HashingEmbedder(), 9, "plain", lambda *_: None
    ).figures()
    borders, choosing = told["f1"]["borders, x"], told["f1"]["choosing, x"]
    assert (borders["untuned"], borders[TUNED]) == (0.0, 1.0)
    assert (borders["cut every 2 lines"], borders["cut every 4 lines"]) == (1.0, 0.0)
    assert (choosing["untuned"], choosing[TUNED]) == (0.0, 1.0)
    assert (choosing["all options"], choosing["the first option"]) == (0.5, 0.0)
    ranges = told["f1"]["ranges, x"]
    assert (ranges["untuned"], ranges["one topic"], ranges[TUNED]) == (0.0, 0.0, 1.0)
    assert [told["rows"][name][TUNED] for name in ("ranges, x", "choosing, x")] == [1, 1]
    assert told["tuned ahead by"]["borders, x"]["cut every 2 lines"]["mean"] == 0.0


def test_a_model_whose_time_is_up_is_compared_on_the_rows_it_answered(tmp_path: Path) -> None:
    models = {
        "untuned": ScriptedLLM(["1", LLMUnavailable("the time is up")]),
        TUNED: ScriptedLLM(["2", "2"]),
    }
    options = ["boats. on boats", "bread. on bread", NONE_OF_THE_OTHERS]
    row = {"type": "retrieval_x", "text": choose_prompt("bread?", options), "answer": "2"}
    (tmp_path / "test.jsonl").write_text(f"{json.dumps(row)}\n" * 2, "utf-8")
    figures = measure_tuning(
        tmp_path, models, HashingEmbedder(), 9, "plain", lambda *_: None
    ).figures()
    assert figures["rows"]["choosing, x"] == {
        "all options": 2,
        "the first option": 2,
        "search": 2,
        "untuned": 1,
        TUNED: 2,
    }
    assert figures["tuned ahead by"]["choosing, x"]["untuned"]["rows"] == 1
    assert "| untuned | 0.0; tuned +100.0 [+100.0, +100.0], 1 rows |" in tuned_table(figures)


def test_an_adapter_that_was_tuned_again_is_asked_again(tmp_path: Path) -> None:
    adapter, replies = tmp_path / "memos.gguf", tmp_path / "replies.jsonl"
    llm = ScriptedLLM(["as it was", "tuned anew"])

    def ask() -> str:
        kept = KeptReplies(tuned_model(llm, adapter), replies)
        return kept.complete(ASKED, max_tokens=9, temperature=0.0).text

    adapter.write_bytes(b"GGUF, the first")
    assert [ask(), ask()] == ["as it was", "as it was"]
    adapter.write_bytes(b"GGUF, the second")
    assert [ask(), ask()] == ["tuned anew", "tuned anew"]
    adapter.write_bytes(b"notes")
    with pytest.raises(LLMNotConfigured, match="is not a GGUF file"):
        tuned_model(llm, adapter)
