import json

import pytest

from treering.errors import InputError, LLMReplyError
from treering.llm.scripted import ScriptedLLM
from treering_bench.generate import GeneratedQuestion, GeneratedTurn, ask_about, extend_chat

CHAT = [GeneratedTurn("Alex", "Hi!"), GeneratedTurn("Bob", "Hello.")]


def test_a_chat_is_carried_on_two_rounds_a_call_to_the_length_asked_for() -> None:
    step = "Alex: One.\nBob: Two.\nAlex: Three.\nBob: Four.\nAlex: Five."
    llm = ScriptedLLM([step, step])
    turns = list(extend_chat(CHAT, 4, llm))
    assert [turn.text for turn in turns] == ["One.", "Two.", "Three.", "Four.", "One.", "Two."]
    assert "exactly 2 times" in llm.requests[0].text
    assert "exactly 1 times" in llm.requests[1].text


def test_a_reply_counts_as_far_as_it_keeps_the_order_and_is_asked_for_again_if_nowhere() -> None:
    replies = [
        "Bob: I go first.\nAlex: No.",
        "**Alex:** Sure.\n\nBob: Fine.\nBob: And more.",
        "Alex: X.\nBob: Y.",
    ]
    llm = ScriptedLLM(replies)
    turns = list(extend_chat(CHAT, 3, llm))
    assert [turn.text for turn in turns] == ["Sure.", "Fine.", "X.", "Y."]
    assert llm.requests[0].seed != llm.requests[1].seed


def test_a_model_that_never_keeps_the_order_is_an_error() -> None:
    with pytest.raises(LLMReplyError, match="in 3 replies"):
        list(extend_chat(CHAT, 2, ScriptedLLM(["no turns"] * 3)))


def test_a_chat_that_does_not_end_with_bob_is_refused() -> None:
    with pytest.raises(InputError, match="end with Bob"):
        list(extend_chat(CHAT[:1], 2, ScriptedLLM([])))


def test_questions_about_a_chat_come_as_pairs() -> None:
    rows = [{"question": f"Q{n}?", "response": f"A{n}"} for n in range(3)]
    llm = ScriptedLLM([f"```json\n{json.dumps(rows)}\n```"])
    assert ask_about(CHAT, 2, llm) == [
        GeneratedQuestion("Q0?", "A0"),
        GeneratedQuestion("Q1?", "A1"),
    ]
    assert "Alex: Hi!\nBob: Hello." in llm.requests[0].text
