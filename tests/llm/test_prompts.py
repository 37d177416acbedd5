from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.llm.prompts import Prompt, load


def test_the_story_prompt_is_the_one_printed_in_the_paper() -> None:
    assert load("fragrel_story").fill(context="ONCE.", input="Who?") == (
        "You are given a story, which can be either a novel or a movie script, and a question. "
        "Answer the question asconcisely as you can, using a single phrase if possible. "
        "Do not provide any explanation.\n\nStory: ONCE.\n\n"
        "Now, answer the question based on the story asconcisely as you can, using a single phrase "
        "if possible. Do not provide any explanation.\n\nQuestion: Who?\n\nAnswer:"
    )


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
