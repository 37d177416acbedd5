"""Texts that break off or are cut in two: they may state nothing, and are never an error."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Open
from tests.facts.test_gate import EXAMPLES, TOLD, TYPED
from tests.facts.test_statements import entry, found
from treering.views.facts.statement import statements

BROKEN_OFF = [
    "We went to…",
    "I went to, like, Rome.",
    "I went to (see above) Rome.",
    "I went to \n- Rome\n- Paris",
    "I've been going to…",
    "We've been going to!",
    "My train is at",
    "My flight is at…",
    "My train is no longer at but",
    "I changed my surname. It's become.",
    "I changed my surname and it became",
    "All now is fine with my job.",
    "We replaced \N{NO-BREAK SPACE}, then I left",
    "I do(5)",
]
ENTERED = ["…", "...", "(", ")", ",", "\n", "\n- ", '"', "'", "“", "”", "(see above)", "!"]

texts = st.sampled_from([*EXAMPLES, *TYPED, *TOLD])
signs = st.tuples(st.integers(0, 12), st.sampled_from(ENTERED))


@pytest.mark.parametrize("text", BROKEN_OFF)
def test_a_sentence_that_breaks_off_is_no_error(text: str) -> None:
    for written in (text, text.lower(), f"I moved. {text}"):
        assert not [one for one in statements(entry(written)) if one.slot == "home"]


@settings(max_examples=400)
@given(texts, st.lists(signs, max_size=2), st.sampled_from(["", "…", "...", "!", ","]))
def test_no_text_is_an_error_wherever_it_breaks_off(
    text: str, entered: list[tuple[int, str]], last: str
) -> None:
    words = text.split()
    for place, sign in entered:
        words.insert(place, sign)
    for stop in range(1, len(words) + 1):
        statements(entry(" ".join(words[:stop]) + last))


def test_who_speaks_may_be_called_anything() -> None:
    text = "I moved to Rome. My sister lives in Graz."
    for speaker in ("Ana's  ", "Ana's ", " ", "'s "):
        spoken = replace(entry(text), speaker=speaker)
        assert [statement.value for statement in statements(spoken)] == ["Rome", "Graz"]


@pytest.mark.parametrize("text", ["My age is Forty.", "My age is 41-ish.", "Our age is now Big."])
def test_an_age_that_is_no_number_is_compared_as_other_values_are(text: str) -> None:
    assert found("I'm 40 years old.", text) == [(0, 1)]
    assert found(text, "I'm 52 years old.") == [(0, 1)]


def test_nobody_gets_younger() -> None:
    assert found("I'm 40 years old.", "I'm 39 years old.") == []


@pytest.mark.parametrize(
    "text",
    ["I live in Graz TEMPORARILY.", "My sister works in Rome Temporarily"],
)
def test_what_is_for_a_while_is_so_in_capitals_too(text: str) -> None:
    assert statements(entry(text)) == []
    assert statements(entry(text.lower())) == []


@pytest.mark.both_engines
def test_the_facts_of_a_space_go_on_after_a_sentence_that_breaks_off(open_memory: Open) -> None:
    memory = open_memory()
    memory.add("I live in Oslo.", speaker="Ana")
    memory.add("We went to…", speaker="Ana")
    memory.add("My train is at", speaker="Ana")
    memory.add("I moved to Rome.", speaker="Ana")
    assert [fact.value for fact in memory.facts.current("Ana")] == ["Rome"]
    assert memory.settle().pending == {}
