from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.errors import LLMReplyError, LLMUnavailable
from treering.llm.contract import Reply, Usage
from treering.llm.scripted import FakeLLM, Line
from treering.llm.structured import ask_structured, read_json


@dataclass(frozen=True, slots=True)
class Topic:
    topic: str
    start: int


GOOD = '{"topic": "mill", "start": 3}'


def asked(*script: Line) -> tuple[Topic, FakeLLM]:
    llm = FakeLLM(script)
    made = ask_structured(llm, "Which topic?", Topic, max_tokens=50)
    return made, llm


def test_json_is_read_bare_fenced_among_words_or_mended() -> None:
    cases = [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure, here it is: {GOOD} I hope that helps!",
        "{'topic': 'mill', 'start': 3,}",
        '{"topic": "mill", "start": "3"}',
        '{"topic": "mill", "start": 3',
    ]
    for text in cases:
        made, llm = asked(text)
        assert made == Topic("mill", 3)
        assert len(llm.requests) == 1
        assert '"topic"' in llm.requests[0].text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I do not know.", "no JSON object or list"),
        ('{"topic": "mill"}', "start: Field required"),
        ('{"topic": "mill", "start": "soon"}', "start: Input should be a valid integer"),
        (f"[{GOOD}, {GOOD}]", "the value: "),
        ("[" * 20_000, "nested too deeply"),
    ],
)
def test_a_reply_that_does_not_fit_is_asked_for_once_more_with_the_reason(
    text: str, problem: str
) -> None:
    made, llm = asked(text, GOOD)
    assert made == Topic("mill", 3)
    assert len(llm.requests) == 2
    assert [message.role for message in llm.requests[1].messages] == ["user", "assistant", "user"]
    assert problem in llm.requests[1].messages[-1].content


def test_a_second_misfit_is_an_error_that_shows_reason_and_reply() -> None:
    with pytest.raises(LLMReplyError):
        asked("nothing", '{"topic": 1}')


def test_a_reply_cut_off_at_its_limit_is_not_mended_into_a_shorter_one() -> None:
    cut = Reply(f"[{GOOD}, {{", Usage(1, 1, 1), "m", "length")
    llm = FakeLLM([cut, f"[{GOOD}]"])
    made = ask_structured(llm, "All?", list[Topic], max_tokens=50)
    assert made == [Topic("mill", 3)]
    assert "cut off" in llm.requests[1].messages[-1].content


def test_the_callers_own_check_counts_like_a_wrong_type() -> None:
    def check(topic: Topic) -> None:
        if topic.start > 2:
            raise ValueError("start must be at most 2")

    llm = FakeLLM([GOOD, '{"topic": "mill", "start": 2}'])
    made = ask_structured(llm, "?", Topic, max_tokens=50, check=check)
    assert made.start == 2
    assert "start must be at most 2" in llm.requests[1].text


def test_the_models_own_errors_pass_through() -> None:
    with pytest.raises(LLMUnavailable):
        asked(LLMUnavailable("down"))


@given(st.builds(Topic, st.text(), st.integers(-(2**53), 2**53)))
def test_whatever_a_form_can_hold_comes_back_equal(topic: Topic) -> None:
    made, _ = asked(json.dumps(asdict(topic)))
    assert made == topic


@given(st.text())
def test_any_text_is_json_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(read_json(text), dict | list)
