"""Turns of phrase: each row of the table gives its example's plain wording, which is then read."""

from __future__ import annotations

import pytest

from tests.facts.test_statements import entry
from treering.views.facts.paraphrase import Paraphrase
from treering.views.facts.paraphrases import PARAPHRASES, paraphrased
from treering.views.facts.statement import statements

STATED = [
    ("Please amend my surname to Brown in your records.", "surname", "Brown"),
    ("The postcode on my file should read SY8 1ZZ.", "postcode", "SY8 1ZZ"),
    ("My divorce came through on Friday, prosecco time", "status", "divorced"),
    ("My pension is now £1,946 a month after the rise.", "pension", "£1,946 a month"),
    ("My new therapist is called Ruth and wow, she asks good questions", "therapist", "Ruth"),
    ("Shoe size 43", "shoe size", "43"),
    ("blood type O neg", "blood type", "O neg"),
    ("My working hours are 7 to 3.", "working hours", "7 to 3"),
    ("My broadband's with Zen.", "broadband", "Zen"),
    ("My rent is due on the 1st.", "rent is due", "the 1st"),
    ("I'm vegan now, can you do me a week of lunches?", "diet", "vegan"),
    ("My solicitor has changed to Pryce & Lowe.", "solicitor", "Pryce & Lowe"),
    ("My favourite composer was Elgar. It is now Finzi.", "favorite composer", "Finzi"),
    ("My boat was renamed; she is now the Lady Jane.", "boat", "the Lady Jane"),
    (
        "Please be advised that I have resigned from my post at Hart & Sons.",
        "employer",
        "Hart & Sons",
    ),
    ("allergies: penicillin, cashews", "allergies", "penicillin"),
    ("email now h@post.example", "email", "h@post.example"),
    ("dentist = Dr Falk from now on", "dentist", "Dr Falk"),
    ("My birthday is 4 May and my sister said hers is in June", "birthday", "4 May"),
]
NOTHING_SAID = [
    "My sister told me I live in Leeds.",
    "I'm the boss now, she says.",
    "I like it.",
    "I don't like football any more?",
]


@pytest.mark.parametrize("row", PARAPHRASES, ids=lambda row: row.example)
def test_a_turn_of_phrase_is_brought_into_plain_wording(row: Paraphrase) -> None:
    assert paraphrased(row.example) == row.read


@pytest.mark.parametrize(("text", "slot", "value"), STATED)
def test_a_turn_of_phrase_is_read(text: str, slot: str, value: str) -> None:
    assert (slot, value) in [(each.slot, each.value) for each in statements(entry(text))]


@pytest.mark.parametrize("text", NOTHING_SAID)
def test_what_others_say_is_no_statement(text: str) -> None:
    assert [each.value for each in statements(entry(text))] == []
