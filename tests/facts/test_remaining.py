"""What is asserted in words that no list knows is read, and what is not meant is not."""

from __future__ import annotations

import pytest

from tests.facts.test_statements import entry, found
from treering.views.facts.statement import statements


def read(text: str) -> list[tuple[str, str]]:
    return [(each.subject, each.value) for each in statements(entry(text))]


@pytest.mark.parametrize(
    ("text", "subject", "value"),
    [
        ("my cat Olive now weighs 6.2 kilos", "ana's cat", "weighs 6.2 kilos"),
        ("My kids go to Hillcrest Primary these days.", "ana's kids", "go to Hillcrest Primary"),
        (
            "they've moved me from the Fleet depot to Harrow Lane as of Monday",
            "ana",
            "Harrow Lane",
        ),
        ("I've had enough. My wages go into Nest now", "ana's wages", "go into Nest"),
        ("wool next to the skin gives me eczema", "ana", "gives me eczema"),
        ("We wiped Windows and put Fedora on it.", "ana", "put Fedora on it"),
        ("We took Mateo out; as of May he goes to San Isidro.", "mateo", "goes to San Isidro"),
        ("I'm diabetic, type 2, diet controlled", "ana", "diabetic, type 2"),
        ("Since October I've had a stairlift", "ana", "had a stairlift"),
        ("the mortgage is with Nationwide", "ana", "Nationwide"),
        ("Office days changed to Tuesday and Thursday.", "ana", "Tuesday and Thursday"),
        ("new gamertag!! its MossyKettle88", "ana", "MossyKettle88"),
        ("Scratch that, it's Lindqvist with a q.", "ana", "Lindqvist"),
        ("I became a Canadian citizen this morning!!", "ana", "Canadian citizen"),
    ],
)
def test_an_assertion_is_read_by_its_subject_and_tense(text: str, subject: str, value: str) -> None:
    values = read(text)
    assert any(of == subject and value in whole for of, whole in values), values


@pytest.mark.parametrize(
    "text",
    [
        "my cat Olive would weigh 6 kilos by now if I let her",
        "we nearly sold the boat and bought a Hymer",
        "They haven't made me permanent yet",
        "My mate reckons work has moved me to Harrow Lane, he said.",
        "The advert goes my new bank is Monzo and I love it",
        "The passenger was shouting into her phone: my new number is 555 0142",
        "Write an email for Steph. Start with: I left marketing and joined Bosch.",
        "I might have switched to Thursdays",
        "I totally agree, Maria!",
        "Got it, Nate.",
        "I wish I could say I don't bite my nails any more.",
        "haha my bank balance is now a work of art",
        "I dreamt my cat had moved to Paris",
        "I moved to Python.",
    ],
)
def test_what_is_not_meant_or_passes_is_left_alone(text: str) -> None:
    assert read(text) == []


def test_whom_one_supersedes_has_another_number_or_name() -> None:
    pairs = [
        ("My rent is £700 a month", "My rent is now £900 a month"),
        ("I pay £700 rent", "rent is now £900"),
        ("My dentist is Dr Low", "I have a new dentist, Dr Wu"),
        ("I earn 40000 a year", "my new salary is 45000"),
        ("I work at Siemens", "I moved from Siemens to Bosch"),
    ]
    assert [pair for pair in pairs if not supersedes(*pair)] == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Porto", "I moved from Siemens to Bosch"),
        ("My rent is £900 a month", "My rent is now £900"),
        ("My dentist is Dr Wu", "I have a new dentist, Dr Wu"),
    ],
)
def test_what_is_no_change_supersedes_nothing(older: str, newer: str) -> None:
    assert not supersedes(older, newer)


def supersedes(older: str, newer: str) -> bool:
    return bool(found(older, newer))
