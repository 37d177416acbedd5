"""The plainest shapes of statements, over noun phrases that no list knows."""

from __future__ import annotations

import pytest

from tests.facts.test_statements import entry
from treering.views.facts.statement import statements


def read(text: str) -> list[tuple[str, str]]:
    """The slots and values of what is stated."""
    return [(each.slot, each.value) for each in statements(entry(text))]


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("My gym is now PureFit on Mill Road; the other one closed.", "gym", "PureFit on Mill"),
        ("my new address is 14 Oak Close, Bristol", "address", "14 Oak Close, Bristol"),
        ("Actually my passport expires in 2031.", "passport expires", "2031"),
        ("Our pass got renewed, it's valid until 3 May 2027.", "pass is valid", "3 May 2027"),
        ("We moved from a flat in Ghent to a barn near Ypres.", "home", "barn near Ypres"),
        ("I moved from Windows to Fedora, so give me dnf.", "does:use", "use Fedora"),
        ("We sold the van and bought a camper, a Fiat Ducato.", "does:have", "have Fiat Ducato"),
        ("The only pet left is a tortoise, Gladys.", "pet", "Gladys"),
        ("my soil is heavy clay, like proper pottery stuff", "does:heavi", "heavy clay"),
        ("grandad's hearing aids are Phonak ones", "hearing aids", "Phonak ones"),
        ("They've given me the sixth formers now.", "does:sixth", "sixth formers"),
        ("My new bike is a Canyon Grizl, should I get wider tyres?", "bike", "Canyon Grizl"),
        ("My allergy turned out to be kiwi, weird.", "allergy", "kiwi"),
        ("wait no, I play the alto sax, I said tenor", "does:play", "play the alto sax"),
    ],
)
def test_a_plain_shape_is_read_over_any_nouns(text: str, slot: str, value: str) -> None:
    assert any(slot == of and value in whole for of, whole in read(text)), read(text)


@pytest.mark.parametrize(
    "text",
    [
        "I moved from the sofa to the bed.",
        "We went from Paris to Lyon by train yesterday.",
        "I switched from the left lane to the right lane.",
        "I went from A to B without a map.",
        "My new boss is a nightmare.",
        "my new phone is broken already",
        "my guess is 42",
        "my output is now 3 instead of 4, why?",
        "My train is at platform 4, running!",
        "my cat is now on the roof",
        "My haircut is awful, be honest.",
        "As soon as my new address is 3 Oak Road, I'll update it.",
        "For the demo, my name is Jane Doe.",
        "My uncle's friend sold his farm and bought a boat, a Beneteau.",
    ],
)
def test_what_passes_or_is_only_thought_is_no_statement(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    "text", ["I moved from Graz to Vienna.", "We just moved from Porto to Rome."]
)
def test_a_home_that_was_left_is_nothing_that_was_used(text: str) -> None:
    assert [slot for slot, _ in read(text)] == ["home"]


@pytest.mark.parametrize(
    "text",
    ["I live in Graz and no longer use Vim.", "I moved to Graz and no longer use Vim."],
)
def test_what_is_no_longer_used_is_read_beside_a_home(text: str) -> None:
    ends = {(each.slot, each.value, each.sense) for each in statements(entry(text))}
    assert ("does:use", "use Vim", "ends") in ends
