"""A clause of change is read as a whole, however long its nouns are, where it is meant."""

from __future__ import annotations

import pytest

from tests.facts.test_statements import entry
from treering.views.facts.statement import statements
from treering.views.facts.tokens import words
from treering.views.facts.whole_clauses import whole_clauses


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        (
            "I moved my beehives from the allotment to my uncle's orchard last weekend",
            "moved my beehives to my uncle's orchard",
        ),
        ("we finally moved, from Tampere down to Turku", "moved to Turku"),
        ("I moved from the big bedroom to the box room to make space", "moved to the box room"),
        ("I stopped teaching and moved up to fifth grade", "moved up to fifth grade"),
        (
            "We have sold the caravan and with the money we bought a narrowboat.",
            "bought a narrowboat",
        ),
        ("My working hours have been changed to 7 until 3.", "changed to 7 until 3"),
        ("The monstera is now in the bathroom.", "is in the bathroom"),
        ("My new physio, the one at the gym, is called Bronagh", "called Bronagh"),
        (
            "They moved my weekly one-to-one from Mondays to 4 pm",
            "moved my weekly one-to-one to 4 pm",
        ),
    ],
)
def test_what_holds_after_a_change_is_the_rest_of_its_clause(sentence: str, value: str) -> None:
    assert value in [assertion.value for assertion in whole_clauses(sentence, words(sentence))]


@pytest.mark.parametrize(
    "sentence",
    [
        "I nearly moved from the flat to a house",
        "We haven't moved from Leith to Portobello yet",
        "If we moved from the coast to the hills, I would be glad",
        "My uncle said I moved from Bath to Truro",
        "I moved from the sofa to the bed",
        "I moved from one foot to the other",
        "I moved the cursor from line 3 to line 9",
        "We moved from Leith to Hull when I was nine",
        "I moved from Leith to Hull for the summer",
        "I joined the call from my car",
        "I bought a coffee",
        "My professor says my thesis topic changed to nonsense",
        "We moved from Leith to Hull in the game",
        "We moved from Leith to Hull, but the sale fell through",
    ],
)
def test_what_is_not_meant_or_lasts_a_moment_is_no_change(sentence: str) -> None:
    assert list(whole_clauses(sentence, words(sentence))) == []


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("We've moved from our flat in Faro to a little house in Évora.", "home", "house in Évora"),
        ("my new glasses prescription is -3.25", "glasses prescription", "-3.25"),
    ],
)
def test_a_value_that_was_cut_is_read_to_its_end(text: str, slot: str, value: str) -> None:
    assert (slot, value) in [(each.slot, each.value) for each in statements(entry(text))]


@pytest.mark.parametrize(
    "text",
    [
        "i nearly changed my name to Ravenna at sixteen, my mother put a stop to it",
        "In level three I left the rebels and joined the empire.",
        "The capital of Kazakhstan is now Astana again.",
        "I keep hoping my new haircut will settle down.",
        "I have half a mind to leave the club and join another.",
        "Kids don't write letters any more.",
    ],
)
def test_what_did_not_come_about_or_is_of_no_one_states_nothing(text: str) -> None:
    assert statements(entry(text)) == []
