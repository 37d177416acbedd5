"""Replies to questions, and what is of a source that a question names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.recall.questions import TALK, add_each, assert_answered_as_each_alone, bonus, by_text
from treering import Memory
from treering.search.signals.texts import name_forms

ASKED = "what is the name of your sister?"
REPLY = "Marta, after our aunt"
QUESTION = "the name of the sister"


def say(memory: Memory, *turns: tuple[str, str]) -> None:
    """A chat between people, with talk before and after."""
    talk = [("ben" if n % 2 else "ana", text) for n, text in enumerate(TALK)]
    said = [*talk[:12], *turns, *talk[12:]]
    memory.add([{"role": "user", "name": who, "content": text} for who, text in said], source="t")


@pytest.mark.parametrize("end", ["", " 😊", '"'])
def test_the_reply_to_a_question_is_lifted(memory: Memory, end: str) -> None:
    say(memory, ("ana", ASKED + end), ("ben", REPLY))
    hits = by_text(memory, QUESTION)
    assert bonus(hits[REPLY], "reply") > 1
    assert not bonus(hits[ASKED + end], "reply")
    assert list(hits)[:2] in ([REPLY, ASKED + end], [ASKED + end, REPLY])


def test_what_is_said_in_the_next_session_is_no_reply(memory: Memory) -> None:
    turns = [("ana", ASKED, "1"), ("ben", REPLY, "2"), *(("ana", text, "2") for text in TALK)]
    memory.add(
        [
            {"role": "user", "name": who, "content": text, "session": session}
            for who, text, session in turns
        ],
        source="t",
    )
    assert not bonus(by_text(memory, QUESTION)[REPLY], "reply")


VERGE = "https://www.theverge.com/2023/9/26/trackers"
AGE = "https://www.theage.com.au/technology/trackers.html"


def add_news(memory: Memory, talk: Sequence[str] = TALK, **fields: object) -> None:
    add_each(memory, talk, **fields)
    memory.add("Trackers were sold in spring.", source=AGE)
    memory.add("Trackers were bought in autumn.", source=VERGE)


@pytest.mark.parametrize("asked", ["The Verge", "the verge", "TheVerge", "'The Verge'"])
def test_a_question_that_names_a_source_asks_for_what_that_says(memory: Memory, asked: str) -> None:
    add_news(memory)
    hits = by_text(memory, f"what does {asked} say of trackers")
    assert bonus(hits["Trackers were bought in autumn."], "source") == pytest.approx(4)
    assert not bonus(hits["Trackers were sold in spring."], "source")
    assert next(iter(hits)) == "Trackers were bought in autumn."


@pytest.mark.both_engines
def test_a_filter_leaves_room_for_a_named_source_among_what_meets_it(memory: Memory) -> None:
    talk = [f"trackers {number} of the talk" for number in range(100)]
    add_news(memory, talk, metadata={"a": 1})
    hits = memory.search("The Verge on trackers", mode="lexical", k=3, source=VERGE)
    assert [hit.source for hit in hits] == [VERGE]


def test_a_name_of_one_word_is_written_with_a_capital_letter(memory: Memory) -> None:
    add_each(memory, TALK)
    memory.add("What it costs is known.", source="budget.md")
    text = "What it costs is known."
    assert not bonus(by_text(memory, "what the budget is and costs")[text], "source")
    assert bonus(by_text(memory, "what Budget says it costs")[text], "source") > 0


def test_what_a_source_may_be_called() -> None:
    cases = [
        ("https://www.theage.com.au/a/b.html?x=1", {"theage"}),
        ("https://news.ycombinator.com/item", {"ycombinator"}),
        ("http://[broken", set()),
        ("notes/trip_to-Lisbon.md", {"triptolisbon"}),
        ("Theodred II (Bishop of Elmham)", {"theodredii", "theodrediibishopofelmham"}),
        ("东京 塔楼", {"东京塔楼"}),
        ("a.b", set()),
        ("/", set()),
    ]
    for source, forms in cases:
        assert name_forms(source) == forms


@pytest.mark.both_engines
def test_several_questions_are_answered_as_each_alone(memory: Memory) -> None:
    say(memory, ("ana", ASKED), ("ben", REPLY))
    add_news(memory)
    assert_answered_as_each_alone(memory, [QUESTION, "The Verge on trackers", "rain"])
