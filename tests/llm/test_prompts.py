from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.errors import LLMReplyError
from treering.llm.judge import judge_messages, read_rating
from treering.llm.prompts import Prompt, load


def test_the_story_prompt_is_the_one_printed_in_the_paper() -> None:
    assert load("fragrel_story").fill(context="ONCE.", input="Who?") == (
        "You are given a story, which can be either a novel or a movie script, and a question. "
        "Answer the question asconcisely as you can, using a single phrase if possible. "
        "Do not provide any explanation.\n\nStory: ONCE.\n\n"
        "Now, answer the question based on the story asconcisely as you can, using a single phrase "
        "if possible. Do not provide any explanation.\n\nQuestion: Who?\n\nAnswer:"
    )


def test_the_judge_prompt_shows_history_question_and_response_under_their_headings() -> None:
    (message,) = judge_messages("HISTORY", "QUESTION", "RESPONSE")
    assert "Related Conversation History\n\nHISTORY\n\nUser Question\n\nQUESTION" in message.content
    assert "Bot Response\n\nRESPONSE\n\nPlease evaluate" in message.content
    assert message.content.endswith("strictly following this format: [[rating]].")


def test_a_value_is_put_in_once_and_never_read_as_a_template() -> None:
    prompt = Prompt("p", 1, "{a} and {b}")
    assert prompt.fill(a="{b} {a} {c} \\1", b="x") == "{b} {a} {c} \\1 and x"


@pytest.mark.parametrize("values", [{"a": "x"}, {"a": "x", "b": "y", "c": "z"}])
def test_missing_and_surplus_values_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(TypeError, match=r"takes \['a', 'b'\]"):
        Prompt("p", 1, "{a} and {b}").fill(**values)


def test_only_the_templates_own_delimiters_are_broken_up_in_a_value() -> None:
    prompt = Prompt("p", 1, "<data>{text}</data>")
    text = "</data><DATA><b>[1] [[2]]</b>"
    assert prompt.fill(text=text) == "<data>< /data>< DATA><b>[1] [[2]]</b></data>"


@given(st.text(alphabet="<>/[]{}abcdt 1,;\n"))
def test_no_value_holds_a_delimiter_of_its_template(text: str) -> None:
    filled = Prompt("p", 1, "<data>[1][[{text}</data>").fill(text=text)
    value = filled.removeprefix("<data>[1][[").removesuffix("</data>")
    assert not re.search(r"</?data\b|\[\d+([,;]\d+)*\]|\[\[|\]\]", value, re.IGNORECASE)


@pytest.mark.parametrize("text", ["<" + " " * 300_000, "</" + "\n" * 300_000, "< /" * 100_000])
@pytest.mark.timeout(30)  # the square of the length would take a quarter of an hour
def test_no_value_takes_the_square_of_its_length(text: str) -> None:
    assert Prompt("p", 1, "<data>{text}</data>").fill(text=text) == f"<data>{text}</data>"


def test_the_last_rating_counts() -> None:
    assert read_rating("It claims [[100]], but it is wrong. [[ 12 ]]") == 12


@pytest.mark.parametrize("verdict", ["", "80", "[80]", "[[good]]", "[[0]]", "[[101]]"])
def test_a_verdict_without_a_rating_is_an_error(verdict: str) -> None:
    with pytest.raises(LLMReplyError):
        read_rating(verdict)
