"""Statements in the wording of people who had not seen the rules, and texts that state nothing.

They were developed on, so they tell what must not be lost, and not what to expect of other wording:
``docs/figures/results-memos.md`` has figures of that. ``variants.jsonl``, ``whole.jsonl``,
``notices.jsonl`` and ``rotated.jsonl`` are by who wrote the rules.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.facts.test_statements import entry
from treering.views.facts.fiction import own_life
from treering.views.facts.framing import unframed
from treering.views.facts.statement import statements
from treering_bench.fact_changes import of_statements

SETS = sorted(Path(__file__).with_name("forms").glob("*.jsonl"))
RECALL = 0.9
ROTATED = 0.85
"""Of ``rotated.jsonl``, in which who wrote the rules looked for what they do not read."""


@pytest.mark.parametrize("file", SETS, ids=lambda file: file.stem)
def test_what_people_state_is_read_and_what_misleads_is_not(file: Path) -> None:
    figures = of_statements(file.read_text(encoding="utf-8").split("\n"))
    assert figures["false alarms"] == []
    bound = ROTATED if file.stem == "rotated" else RECALL
    assert figures["recall"] > bound, figures["missed"]
    assert figures["statements"] >= 60
    assert figures["misleading"] >= 30


@pytest.mark.parametrize(
    "opener",
    [
        *("Quick update: ", "One small correction for your records: ", "scratch that, ", "PS "),
        *("Just wanted to let you know that ", "Not sure if I mentioned it, but ", "Hiya, so, "),
        *("I'm delighted to say ", "Heads up - ", "Effective June 1 ", "fun fact: btw "),
        "Before I forget, ",
    ],
)
def test_an_opener_takes_nothing_from_a_statement(opener: str) -> None:
    read = [(each.slot, each.value) for each in statements(entry(f"{opener}my rent is now £940."))]
    assert read == [("rent", "£940")]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("I moved to Leeds, in case you need it.", "I moved to Leeds"),
        ("My rent is £940 as of last month.", "My rent is £940 now."),
        ("I am, as of today, a nurse.", "I am now a nurse."),
        ("I know my dentist.", "my dentist."),
        ("I know Leeds.", "I know Leeds."),
    ],
)
def test_what_stands_around_a_statement_is_taken_off(text: str, plain: str) -> None:
    assert unframed(text) == plain


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("I live in Porto. Let's pretend I'm a pirate.", "I live in Porto"),
        ("In a parallel universe I'm a baker.", ""),
        ("lol I'm literally a ghost", ""),
        ("My name is Inigo Montoya. Who said that?", ""),
        ("I own a castle. Seriously, I live in Porto.", "I live in Porto."),
        ("I play the cello and I live in Porto.", "I play the cello and I live in Porto."),
        ("You are kind. I live in Porto.", "You are kind. I live in Porto."),
    ],
)
def test_what_is_played_or_joked_is_left_out(text: str, own: str) -> None:
    assert own_life(text).strip(" .") == own.strip(" .")


def test_a_joke_that_is_left_out_moves_no_offset() -> None:
    text = "I own a castle. Seriously, I live in Porto."
    [stated] = statements(entry(text))
    assert text[stated.start : stated.stop] == "I live in Porto."


@pytest.mark.parametrize(
    ("text", "subject", "value"),
    [
        (
            "My sister Orla left teaching and she's a funeral director now.",
            "sister",
            "funeral director",
        ),
        ("My sister got a job. She's in Leeds now.", "sister", "in Leeds"),
        ("My son Rhys is in the RAF, based at Lossiemouth.", "son", "based at Lossiemouth"),
        ("My partner, Sasha, is vegan.", "partner", "vegan"),
        (
            "my daughter niamh starts at Loreto in september",
            "daughter",
            "starts at Loreto in september",
        ),
        ("My brother-in-law Keith drives a taxi now.", "brother-in-law", "drives a taxi"),
    ],
)
def test_what_relatives_do_is_theirs(text: str, subject: str, value: str) -> None:
    read = [(each.subject, each.value) for each in statements(entry(text))]
    assert (f"ana's {subject}", value) in read


@pytest.mark.parametrize("text", ["My sister left. He's in Leeds.", "My boss left. She said no."])
def test_he_is_no_sister_and_what_is_said_is_no_fact(text: str) -> None:
    assert [each for each in statements(entry(text)) if each.value.startswith(("in", "no"))] == []
