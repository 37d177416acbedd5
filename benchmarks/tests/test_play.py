"""Conversations in which the bot plays its own turns, and replies that are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treering.errors import LLMReplyError
from treering.llm.contract import Message
from treering.llm.scripted import Line, Request, ScriptedLLM
from treering_bench.kept_replies import KeptReplies
from treering_bench.play import (
    conversations,
    messages,
    needed_history,
    play,
    played_rows,
    rate,
)
from treering_bench.suites.mtbench_plus import load


def published(path: Path) -> Path:
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
    file = path / "mtbenchplus1.json"
    file.write_text(json.dumps([row]))
    return file


def test_the_bot_sees_the_round_before_and_its_words_are_put_in(tmp_path: Path) -> None:
    [conversation] = conversations(published(tmp_path))
    assert conversation.needed == {"stem-1-0"}
    llm = ScriptedLLM(["A wave.", "2", "4"])
    played = play(conversation, llm)
    assert [one.bot for one in played.rounds] == ["A wave.", "2", "4"]
    assert "user: What is 1 + 1? ### bot: 2" in llm.requests[2].text
    assert "A wave." not in llm.requests[2].text
    assert needed_history(played) == "user: What is light?\n\nbot: A wave."
    assert [said["content"] for said in messages(played)][:2] == ["What is light?", "A wave."]


def test_a_played_file_is_the_published_one_with_the_bots_turns(tmp_path: Path) -> None:
    rows = list(played_rows(published(tmp_path), ScriptedLLM(["A wave.", "2", "4"])))
    written = tmp_path / "played" / "mtbenchplus-played.json"
    written.parent.mkdir()
    written.write_text(json.dumps(rows))
    [conversation] = conversations(written)
    assert [round_.bot for round_ in conversation.rounds] == ["A wave.", "2", "4"]
    assert play(conversation, ScriptedLLM([])) == conversation
    [task] = load(written)
    assert [piece.text for piece in task.documents[0].pieces][:2] == ["What is light?", "A wave."]
    assert task.questions[0].evidence == {"stem-1-0"}


def test_the_judge_sees_the_rounds_that_are_needed_and_rates(tmp_path: Path) -> None:
    [conversation] = conversations(published(tmp_path))
    played = play(conversation, ScriptedLLM(["A wave.", "2", "4"]))
    judge = ScriptedLLM(["It is faithful. [[87]]", "I like it."])
    assert rate(played, "Yes.", judge) == 87
    shown = judge.requests[0].text
    assert "bot: A wave." in shown
    assert "user: Was it a wave?" in shown
    assert "1 + 1" not in shown
    with pytest.raises(LLMReplyError):
        rate(played, "Yes.", judge)


def test_a_reply_is_asked_for_once_even_by_another_run(tmp_path: Path) -> None:
    def line(request: Request) -> Line:
        return f"Reply {len(llm.requests)}."

    llm = ScriptedLLM(line)
    path = tmp_path / "replies.jsonl"
    asked = [Message("user", "Hi?")]
    for _ in range(2):
        kept = KeptReplies(llm, path)
        first = kept.complete(asked, max_tokens=5, temperature=0.0)
        assert (first.text, first.usage.calls) == ("Reply 1.", 1)
        assert kept.complete(asked, max_tokens=6, temperature=0.0).text == "Reply 2."
    assert len(llm.requests) == 2
    assert list(kept.stream(asked, max_tokens=5, temperature=0.0)) == ["Reply 1."]


def test_a_reply_that_was_being_kept_when_a_run_was_killed_is_asked_for_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "replies.jsonl"

    def ask(llm: ScriptedLLM, text: str) -> str:
        asked = [Message("user", text)]
        return KeptReplies(llm, path).complete(asked, max_tokens=9, temperature=0.0).text

    assert [ask(ScriptedLLM([text]), text) for text in ("one", "two")] == ["one", "two"]
    path.write_bytes(path.read_bytes()[:-7])
    assert ask(ScriptedLLM([]), "one") == "one"
    assert ask(ScriptedLLM(["again"]), "two") == "again"
    assert ask(ScriptedLLM([]), "two") == "again"
