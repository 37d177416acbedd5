"""Data that is made: MSC-E's chats and questions, MT-Bench+ with the bot's turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from test_suites import load
from treering.errors import InputError, LLMReplyError
from treering.llm.scripted import FakeLLM
from treering_bench.generate import SEED_CHAT, GeneratedTurn, ask_about, extend_chat, read_chat
from treering_bench.suites.mtbench_plus import played_rows
from worlds import Bench, write

CHAT = [GeneratedTurn("Alex", "Hi!"), GeneratedTurn("Bob", "Hello.")]
STEP = "Alex: One.\nBob: Two.\nAlex: Three.\nBob: Four.\nAlex: Five."


def test_a_chat_is_carried_on_two_rounds_a_call_to_the_length_asked_for() -> None:
    llm = FakeLLM([STEP, STEP])
    turns = list(extend_chat(CHAT, 4, llm))
    assert [turn.content for turn in turns] == ["One.", "Two.", "Three.", "Four.", "One.", "Two."]
    assert "exactly 2 times" in llm.requests[0].text
    assert "exactly 1 times" in llm.requests[1].text


def test_a_reply_counts_as_far_as_it_keeps_the_order_and_is_asked_for_again_if_nowhere() -> None:
    replies = [
        "Bob: I go first.\nAlex: No.",
        "**Alex:** Sure.\n\nBob: Fine.\nBob: And more.",
        "Alex: X.\nBob: Y.",
    ]
    llm = FakeLLM(replies)
    turns = list(extend_chat(CHAT, 3, llm))
    assert [turn.content for turn in turns] == ["Sure.", "Fine.", "X.", "Y."]
    assert llm.requests[0].seed != llm.requests[1].seed
    with pytest.raises(LLMReplyError, match="in 3 replies"):
        list(extend_chat(CHAT, 2, FakeLLM(["no turns"] * 3)))
    with pytest.raises(InputError, match="end with Bob"):
        list(extend_chat(CHAT[:1], 2, FakeLLM([])))


def test_questions_about_a_chat_come_as_pairs() -> None:
    rows = [{"question": f"Q{n}?", "response": f"A{n}"} for n in range(3)]
    llm = FakeLLM([f"```json\n{json.dumps(rows)}\n```"])
    found = ask_about(CHAT, 2, llm)
    assert [(one.question, one.response) for one in found] == [("Q0?", "A0"), ("Q1?", "A1")]
    assert "Alex: Hi!\nBob: Hello." in llm.requests[0].text


def test_msc_e_is_written_read_and_reported_by_the_place_of_the_evidence(
    bench: Bench, tmp_path: Path
) -> None:
    assert len(read_chat(SEED_CHAT)) == 8
    rounds = 6  # the seed has four
    pair = json.dumps([{"question": "Who?", "response": "Alex"}])
    script = "\n".join(["Alex: One. Bob: Two."] * 3)
    refused = bench("msc-e", "--out", tmp_path / "x", "--rounds", rounds, *bench.model(script))
    assert refused.exit_code != 0  # the turns are on one line
    out, chat = tmp_path / "msc-e", tmp_path / "chat.jsonl"
    write(chat, SEED_CHAT.read_text("utf-8"))
    done = bench(
        "msc-e", "--out", out, "--chat", chat, "--rounds", 4, *bench.model("\n".join([pair] * 3))
    )
    assert done.exit_code == 0, done.output
    [task] = load("msc-e", out)
    assert [question.category for question in task.questions] == [
        "first third", "middle third", "last third",
    ]  # fmt: skip
    assert len(task.documents[0].pieces) == 8
    report = bench("run", "msc-e", "--data", out, "--policy", "whole").stdout
    assert "| words@1000tokens | first third (1) | last third (1) | middle third (1) |" in report


def published(path: Path, chats: int = 1) -> Path:
    labels = "stem-1-0", "math-2-0", "math-2-1", "stem-1-Q"
    asked = "What is light?", "What is 1 + 1?", "And 2 + 2?", "Was it a wave?"
    talk = [
        turn
        for label, text in zip(labels, asked, strict=True)
        for turn in (
            {"from": "human", "value": text, "turn-info": label},
            {"from": "chatbot", "value": ""},
        )
    ]
    row = {"id": "c1", "type": "retrospection", "conversations": talk}
    return write(path / "mtbenchplus1.json", [row] * chats)


def test_the_bot_sees_the_round_before_and_its_words_are_put_in(tmp_path: Path) -> None:
    llm = FakeLLM(["A wave.", "2", "4"])
    rows = list(played_rows(published(tmp_path), llm))
    assert "user: What is 1 + 1? ### bot: 2" in llm.requests[2].text
    assert "A wave." not in llm.requests[2].text
    played = write(tmp_path / "played" / "mtbenchplus-played.json", rows)
    assert list(played_rows(played, FakeLLM([]))) == rows
    [task] = load("mtbench-plus", played)
    assert [piece.text for piece in task.documents[0].pieces][:2] == ["What is light?", "A wave."]
    assert task.questions[0].evidence == {"stem-1-0"}
    [joined] = load("mtbench-joined", played)
    assert joined.questions[0].evidence == {"c1 stem-1-0"}
    assert joined.documents[0].pieces[0].unit == "c1 stem-1-0"


def test_chat_policies_are_rated_by_a_judge_that_sees_the_rounds_asked_about(
    bench: Bench, tmp_path: Path
) -> None:
    data = published(tmp_path, chats=2)
    out = tmp_path / "mtbenchplus-played.json"
    play = ("play", "--data", data, "--out", out, "--limit", 1)
    assert bench(*play, *bench.model("A wave.\n2\n4")).exit_code == 0
    assert len(json.loads(out.read_text("utf-8"))) == 1
    run = ("run", "mtbench-plus", "--data", out, "--policy", "chat:window", "--json")
    found = bench.object(*run)
    assert found["policies"]["chat:window"]["recall@2000tokens"] == 1.0
    cost = bench.object(*run, *bench.model("Yes."), "--out", tmp_path / "cost.jsonl")
    assert cost["policies"]["chat:window"]["tokens prompt"] > 0
    model = bench.model("It is faithful. [[87]]")  # the reply is kept
    judged = bench.object(*run, *model, "--judge", model[1], "--budget", 2000)
    assert judged["policies"]["chat:window"]["rating"] == 0.87
    assert judged["level"] == "answers"
