"""What a message hands over to be worked on is nothing that its writer states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.facts.test_statements import entry
from treering.views.facts.requests import own_words
from treering.views.facts.statement import statements

HANDED_OVER = [
    "Translate into French: I live in Cardiff and I work at the library.",
    'Proofread this: "My name is Oskar and I am single now."',
    "Can you rewrite this more politely: my email is now sales@firm.example",
    "Fix the grammar in this sentence: I live in Rome since 2 years.",
    "Summarise the following message:\nI moved from Cork to Dublin last week.",
    "Could you put this letter into formal English?\n\nDear Sir, I moved to Wells. My new address "
    "is 4 High St.",
    "write a poem that starts with: my favourite colour is blue",
    "the customer wrote: I drive a Volvo now. what should i answer",
    "Is this email ok? My phone number is 01632 960 111. Thanks, Jo",
    "Shorten this bio for me - My wife is called Anna and I live in Oslo",
    'Here is a review to answer: "I moved to York. I work at Bosch now. I am single."',
    "Check spelling pls: 'i left philips and joined asml'",
    "Please rewrite the following so it sounds friendlier. I left Bosch and joined Siemens.",
    "Translate I'm married now into Welsh",
    "I moved from Bath to Wells. Now translate that to Dutch",
    "> I moved from Bath to Wells last week",
    "Summarise: “I sold the Skoda. I bought a Volvo. I am 40.”",
    "translate this " * 40 + ": I moved to Rome",
]

STATED = [
    ("I'm vegan now, so please rewrite this recipe: 2 eggs, 100 g butter", "vegan"),
    ("I moved to Rome last week. Can you translate my CV into Italian?", "Rome"),
    ("Just a note: I moved from Leeds to York", "York"),
    ("My new number: 01632 960 111", "01632 960 111"),
    ("Please update my email: it is now c@d.org", "c@d.org"),
    ("I changed this: my phone number is 01632 960 111", "01632 960 111"),
    ('I moved to York and I\'m reading "Emma". I work at Bosch.', "Bosch"),
    ("The kids' school is far, so I drive to work. I live in York, near my parents' place", "York"),
]


@pytest.mark.parametrize("text", HANDED_OVER)
def test_a_text_that_is_handed_over_states_nothing(text: str) -> None:
    assert [each.value for each in statements(entry(text))] == []


@pytest.mark.parametrize(("text", "value"), STATED)
def test_what_stands_beside_a_request_is_stated(text: str, value: str) -> None:
    assert value in [each.value for each in statements(entry(text))]


@given(st.text(alphabet="a '\"“”:\n`>", max_size=40))
def test_what_is_left_of_a_message_stands_where_it_stood(text: str) -> None:
    left = own_words(text)
    assert len(left) <= len(text)
    assert all(mine in (written, " ", '"') for mine, written in zip(left, text, strict=False))
