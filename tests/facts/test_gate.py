"""The gate lets through whatever forms and clauses read, and plain wording skips nothing it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.views.facts import statement, wording
from treering.views.facts.clauses import clauses
from treering.views.facts.forms import FORMS
from treering.views.facts.framing import tidied, unframed
from treering.views.facts.gate import may_state
from treering.views.facts.paraphrases import PARAPHRASES, paraphrased
from treering.views.facts.tokens import words
from treering.views.facts.wording import plain

EXAMPLES = [form.example for form in FORMS] + [row.example for row in PARAPHRASES]
TYPED = [
    "btw im at ocado now",
    "now its Fontaines and her names priya",
    "as of today the office is on elm street",
    "sold the corsa, in case you wonder",
    "vegan so please note",
    "had to give up the gym",
    "not at google any more I'm at stripe",
    "no more meat for me",
    "new job at ocado",
    "i joined ocado and work with dr wu",
]
WORDS = sorted(
    {word for text in (*EXAMPLES, *TYPED) for word in text.split()}
    | {"", ",", "1", "name17", "It's", "it's", "the", "is", "as", "of", "-", "’s", "i’m", "ſ", "İ"}
)
mixed = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
joined = st.lists(st.sampled_from([*EXAMPLES, *TYPED]), min_size=1, max_size=2).map(" ".join)
written = st.one_of(mixed, joined, mixed.map(str.lower), joined.map(str.lower))

BEFORE = clauses("I changed my surname, and my dentist was Dr Wu")
"""Clauses of the sentence before, with what "it" may stand for."""


@given(written)
def test_whatever_a_form_matches_passes_the_gate(text: str) -> None:
    sentence = plain(text)
    if any(statement._matches(sentence, FORMS)):
        assert may_state(sentence)


@given(written)
def test_whatever_clauses_are_read_of_passes_the_gate(text: str) -> None:
    sentence = plain(text)
    if statement._is_of_oneself(sentence, words(sentence), BEFORE):
        assert may_state(sentence)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_pass_the_gate(text: str) -> None:
    assert may_state(plain(text))


@pytest.mark.parametrize(
    "text", ["", "sounds great!", "was name17 was name3 was name1", "what a day"]
)
def test_a_sentence_about_nobody_does_not_pass(text: str) -> None:
    assert not may_state(text)


@given(written)
def test_plain_wording_is_that_of_all_expressions_one_after_the_other(text: str) -> None:
    assert plain(text) == _plain_by_all(text)


def _plain_by_all(sentence: str) -> str:
    """``plain`` without looking first whether an expression can match at all."""
    casual = wording.is_casual(sentence)
    text = tidied(sentence)
    contracted = wording._TYPED if casual else wording._ALWAYS
    text = contracted.sub(lambda match: wording._spelt_out(match[0]), text)
    text = wording._UNMARKED.sub("'", text) if casual else text
    text = wording._ME.sub("my ", wording._IS_MINE.sub(r"\g<who> is ", text))
    text = wording._NAMED_BESIDE.sub(r"\g<who> \g<name> ", paraphrased(unframed(text)))
    text = wording._HAD_TO.sub(
        lambda match: wording._DID.get(match["verb"].lower(), match["verb"]), text
    )
    if text.partition(" ")[0] not in wording._SUBJECTS and wording._LEAVES_OUT.match(text):
        text = text[0].lower() + text[1:] if text[1:2].islower() else text
        for pattern, template in wording._SUBJECTS_LEFT_OUT:
            text = pattern.sub(template, text)
    text = wording._RUN_ON.sub(r"\g<end>, ", text)
    return wording._names(text) if casual else text
