"""MemoChat's rows: by their own prompts, as treering asks, by trivial answers, with an adapter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treering.errors import LLMNotConfigured
from treering.llm.contract import Message
from treering.llm.scripted import FakeLLM, Request
from treering.views.memos.choose import NONE_OF_THE_OTHERS, choose_prompt
from treering_bench.memos import adapted, answering, read_entries, rows, scored
from treering_bench.metrics.memos import MemoEntry
from worlds import BagOfWords, Bench, lines, write

TOPICS = [
    {"topic": "boats", "summary": "on boats", "start": 1, "end": 2},
    {"topic": "bread", "summary": "on bread", "start": 3, "end": 4},
]
BARE = [{key: value for key, value in topic.items() if key != "summary"} for topic in TOPICS]
SAID = "\n".join(f"(line {number}) user: word {number}" for number in range(1, 5))
OPTIONS = ["boats. on boats", "bread. on bread", NONE_OF_THE_OTHERS]
ROWS = (
    {"type": "writing_dialogsum", "text": SAID, "answer": json.dumps(TOPICS)},
    {"type": "writing_topiocqa", "text": f"Again\n{SAID}", "answer": json.dumps(BARE)},
    {"type": "retrieval_dialogsum", "text": choose_prompt("bread?", OPTIONS), "answer": "2"},
    {"type": "chatting_dialogsum", "text": "Chat.", "answer": "user counts"},
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "test.jsonl", lines(*ROWS))


def test_a_reply_without_a_list_is_unread_and_bad_entries_are_left_out() -> None:
    assert read_entries("I cannot do that.") is None
    assert read_entries('{"topic": "a"}') is None
    assert read_entries('[{"topic": "a", "start": 1, "end": 2}, {"topic": "b"}, 3]') == [
        MemoEntry("a", "", 1, 2)
    ]


def test_the_first_rows_are_of_every_kind(tmp_path: Path) -> None:
    again = write(tmp_path / "test.jsonl", lines(*ROWS, *ROWS))
    assert len({row.category for row in list(rows(again))[:4]}) == 4
    assert len(list(rows(again))) == 8


@pytest.mark.parametrize(
    ("way", "border", "choice"),
    [
        ("rows", 0.0, 1.0),
        ("treering", 1.0, 1.0),
        ("cut@2", 1.0, None),
        ("cut@4", 0.0, None),
        ("one-topic", 0.0, None),
        ("all-options", None, 0.5),
        ("first-option", None, 0.0),
    ],
)
def test_each_way_answers_the_stages_it_can(
    data: Path, way: str, border: float | None, choice: float | None
) -> None:
    def reply(request: Request) -> str:
        if request.text == SAID:
            return "I cannot say"  # to the row's own prompt
        return json.dumps(TOPICS) if "(line 4)" in request.text else "2"

    script = FakeLLM(reply)
    ask = answering({"": script}, BagOfWords(), "plain", 0.2)[way]
    found = [scored(row, ask(row), lambda *_: 0.5).metrics for row in rows(data)]
    writing, _, choosing, chatting = found
    assert writing.get("border F1") == border
    assert choosing.get("choice F1") == choice
    assert chatting == ({"chat BERTScore": 0.5} if way == "rows" else {})


def test_an_adapter_that_was_tuned_again_is_asked_again(tmp_path: Path) -> None:
    adapter, replies = tmp_path / "memos.gguf", tmp_path / "replies.jsonl"
    llm = FakeLLM(["as it was", "tuned again"])

    def ask() -> str:
        kept = adapted(llm, adapter, replies)
        return kept.complete([Message("user", "?")], max_tokens=9, temperature=0.0).text

    adapter.write_bytes(b"GGUF, the first")
    assert [ask(), ask()] == ["as it was", "as it was"]
    adapter.write_bytes(b"GGUF, the second")
    assert [ask(), ask()] == ["tuned again", "tuned again"]
    adapter.write_bytes(b"notes")
    with pytest.raises(LLMNotConfigured):
        adapted(llm, adapter, replies)


@pytest.mark.usefixtures("bundled_model")
def test_the_command_pools_what_matched_over_all_rows(bench: Bench, data: Path) -> None:
    replies = [json.dumps(TOPICS[:1]), "Sorry.", "2", "user counts"]
    found = bench.object(
        "run", "memo-instructions", "--data", data, *bench.model("\n".join(replies)),
        "--policy", "rows", "--policy", "cut@2", "--json",
    )  # fmt: skip
    own, cut = found["policies"]["rows"], found["policies"]["cut@2"]
    # The second row of writing could not be read: one of four entries matched.
    assert (own["topic P"], own["topic R"], own["topic F1"]) == (1.0, 0.25, 0.4)
    assert own["choice F1"] == 1.0
    assert own["chat BERTScore"] == pytest.approx(1.0)
    assert cut["border F1"] == cut["range F1"] == 1.0
    assert found["asked"]["llm"]["calls"] == 4
    assert "has no use for --budget" in bench.refused(
        "run", "memo-instructions", "--data", data, *bench.model(""), "--budget", 5
    )
