"""Chat policies compared on a conversation of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from test_play import published
from treering.errors import InputError, LLMUnavailable
from treering.llm.scripted import Line, ScriptedLLM
from treering_bench.chat_policies import (
    ChatComparison,
    answered_questions,
    first_sessions,
    needed_rounds,
    rated_replies,
    tokens_a_turn,
)
from treering_bench.play import conversations
from worlds import BagOfWords, Bench, chat_task


def compared(llm: ScriptedLLM, *policies: str, budget: int = 400) -> ChatComparison:
    return ChatComparison(policies, llm, BagOfWords(), budget)


def silent(done: int, total: int, doing: str) -> None:
    assert 0 < done <= total
    assert doing


def test_a_policy_with_room_shows_every_round_that_is_needed(tmp_path: Path) -> None:
    chats = list(conversations(published(tmp_path)))
    figures = needed_rounds(chats, compared(ScriptedLLM(["A wave.", "2", "4"]), "window"), silent)
    assert figures["conversations"] == 1
    assert figures["alone"] == figures["joined"]
    assert figures["alone"]["window"]["shown whole"] == 1.0


def test_a_narrow_window_misses_the_first_round(tmp_path: Path) -> None:
    chats = list(conversations(published(tmp_path)))
    long = "A wave of light " * 20
    llm = ScriptedLLM([long, long, long])
    figures = needed_rounds(chats, compared(llm, "window", budget=250), silent)
    assert figures["alone"]["window"]["shown whole"] == 0.0


def test_tokens_a_turn_are_compared_with_the_whole_history(tmp_path: Path) -> None:
    chats = list(conversations(published(tmp_path)))
    llm = ScriptedLLM(["A wave.", "2", "4"])
    figures = tokens_a_turn(chats, compared(llm, "window"), 60, silent)
    assert figures["rounds"] == 3
    assert figures["window"] == {**figures["whole history"], "share of whole history": 1.0}


def test_answers_are_scored_and_the_evidence_in_the_prompt_counted() -> None:
    pieces, questions = first_sessions(chat_task(), 1, 20)
    assert [question.id for question in questions] == ["1"]  # the evidence of the other is later
    figures = answered_questions(
        pieces, questions, compared(ScriptedLLM(["Porto"]), "window"), silent
    )
    assert figures["policies"]["window"]["token F1"] == 1.0
    assert figures["policies"]["window"]["evidence whole"] == 1.0


def test_questions_are_only_those_that_every_policy_answered() -> None:
    def reply(_: object) -> Line:
        return LLMUnavailable("time is up") if len(llm.requests) > 2 else "Porto"

    llm = ScriptedLLM(reply)
    pieces, questions = first_sessions(chat_task(), 2, 20)
    figures = answered_questions(pieces, questions, compared(llm, "window", "auto"), silent)
    assert (len(questions), figures["questions"]) == (2, 1)


def test_sessions_without_a_question_are_an_error() -> None:
    with pytest.raises(InputError, match="--sessions"):
        first_sessions(chat_task(), 0, 20)


def test_a_conversation_with_an_unread_rating_is_left_out(tmp_path: Path) -> None:
    [chat] = conversations(published(tmp_path))
    llm = ScriptedLLM(["A wave.", "2", "4", "Yes."] * 2)
    judge = ScriptedLLM(["[[87]]", "I like it."])
    figures = rated_replies([chat, chat], compared(llm, "window"), judge, silent)
    assert figures["rating"] == {"window": 87.0}
    assert figures["left out, a rating could not be read"] == 1


def test_the_command_ends_with_the_figures_and_what_they_were_measured_with(
    bench: Bench, tmp_path: Path
) -> None:
    data, out = published(tmp_path), tmp_path / "figures.json"
    llm = bench.model("A wave.\n2\n4")
    arguments = ("--data", data, "--policy", "window", "--out", out, "--json")
    told = bench.object("chat", "needed", *llm, *arguments)
    assert told["benchmark"] == "chat needed"
    assert told["alone"]["window"]["shown whole"] == 1.0
    assert len(told["data_sha256"]) == 64
    assert told["budget"] == 2000
    assert json.loads(out.read_text()) == told
    # Kept replies: a second run asks the model nothing.
    assert bench.object("chat", "needed", *bench.model(""), *arguments)["alone"] == told["alone"]


def test_a_policy_that_is_not_there_is_refused(bench: Bench, tmp_path: Path) -> None:
    data = published(tmp_path)
    result = bench("chat", "tokens", *bench.model("x"), "--data", data, "--policy", "nothing")
    assert result.exit_code == 2
    assert "no 'nothing' to measure; there are auto" in result.stderr
