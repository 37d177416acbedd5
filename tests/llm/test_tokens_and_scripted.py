from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.errors import LLMUnavailable
from treering.llm.contract import LLM, Message, Reply, Usage
from treering.llm.scripted import FakeLLM, Request, ScriptExhausted
from treering.llm.tokens import estimate_tokens


def asked(llm: FakeLLM, text: str = "hi") -> str:
    return llm.complete([Message("user", text)], max_tokens=9, temperature=0).text


# Counts of Qwen2.5's tokenizer.
QWEN = {
    "Captain Orlo kept the ledger in a tin under the floor of the mill.": 16,
    "def connect(path, timeout=5.0):\n    return sqlite3.connect(path, timeout=timeout)\n": 21,
}


@pytest.mark.parametrize(("text", "tokens"), QWEN.items())
def test_the_estimate_is_near_qwens_count(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == pytest.approx(tokens, rel=0.15, abs=1)


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens(f"{text} {more}") >= estimate_tokens(text) - 1


def test_a_long_line_of_one_character_is_counted_in_linear_time() -> None:
    for character in " \xa0a[\n":
        assert estimate_tokens(character * 1_000_000) <= 300_000


def test_replies_come_in_order_and_requests_are_kept() -> None:
    whole = Reply("second", Usage(1, 1, 1), "other", "length")
    llm = FakeLLM(["first", whole, LLMUnavailable("down")])
    assert isinstance(llm, LLM)
    assert asked(llm, "a") == "first"
    assert llm.complete([Message("user", "b")], max_tokens=9, temperature=0.5, seed=3) is whole
    assert llm.left == 1
    with pytest.raises(LLMUnavailable):
        asked(llm)
    assert llm.requests[1] == Request((Message("user", "b"),), 9, 0.5, None, 3)


def test_one_request_too_many_fails_the_test_that_made_it() -> None:
    with pytest.raises(ScriptExhausted, match="request 1 is one more than scripted: 'hi'"):
        asked(FakeLLM([]))
