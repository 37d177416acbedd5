"""A question to the role that an assistant plays finds the message that gave it."""

from __future__ import annotations

import pytest

from tests.recall.questions import TALK, assert_answered_as_each_alone, bonus, by_text
from treering import Memory
from treering.search.personas import asks_of_persona

GIVEN = "Embody the persona of a captain of a whaler. What do you see?"
QUESTION = "In the role you are playing, what do you think of the weather that was told of?"


def say(memory: Memory, *texts: str, role: str = "user") -> None:
    """A chat with an assistant, with talk before and after."""
    turns = [("user", text) for text in TALK]
    said = [*turns[:12], *((role, text) for text in texts), *turns[12:]]
    memory.add([{"role": who, "content": text} for who, text in said], source="chat")


@pytest.mark.parametrize(
    "text",
    [
        GIVEN,
        "Pretend to be my grandmother.",
        "From now on act as a teacher of mathematics.",
        "Please take on the role of a coach.",
        "Imagine you are a detective of the last century.",
    ],
)
def test_the_message_that_gave_the_role_is_the_best(memory: Memory, text: str) -> None:
    say(memory, text)
    hits = by_text(memory, QUESTION)
    assert next(iter(hits)) == text
    assert bonus(hits[text], "persona") == 3.0
    assert not any(bonus(hit, "persona") for other, hit in hits.items() if other != text)


@pytest.mark.parametrize(
    "text",
    [
        "We act on Sundays.",
        "Take the part that is broken.",
        "Suppose it rains.",
        "Act two is long.",
        "Which minerals play a role in the health of bones?",
    ],
)
def test_what_gives_no_role_gets_nothing(memory: Memory, text: str) -> None:
    say(memory, text)
    assert not bonus(by_text(memory, QUESTION)[text], "persona")


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("From the perspective of the role you are playing, who is right?", True),
        ("Stay in character: who is right?", True),
        ("Does your persona like tea?", True),
        ("What is your assigned role?", True),
        ("Tell me of the character that I asked you to play.", True),
        ("Who has the main role in the film?", False),
        ("Which character did Ana draw?", False),
        ("What role does rain play?", False),
        ("What would you say of it in your role?", True),
        ("Still in character, what do you make of it?", True),
        ("What role you want?", False),
        ("How did your role at the bank end?", False),
        ("What is your role in the project?", False),
        ("What is the difference in character between Anna and Kitty?", False),
    ],
)
def test_a_question_asks_of_a_persona_where_it_is_put_to_one(question: str, asks: bool) -> None:
    assert asks_of_persona(question) is asks


def test_other_questions_leave_it_where_it_is(memory: Memory) -> None:
    say(memory, GIVEN)
    assert not bonus(by_text(memory, "What do you see of the whaler?")[GIVEN], "persona")


def test_an_assistant_gives_itself_no_role(memory: Memory) -> None:
    say(memory, GIVEN, role="assistant")
    assert not bonus(by_text(memory, QUESTION)[GIVEN], "persona")


def test_nothing_is_given_where_people_talk(memory: Memory) -> None:
    memory.add(
        [{"role": "user", "name": "ana", "content": text} for text in (GIVEN, *TALK)], source="t"
    )
    assert not bonus(by_text(memory, QUESTION)[GIVEN], "persona")


def test_of_a_long_message_the_piece_that_gives_the_role_is_favoured(memory: Memory) -> None:
    say(memory, f"{GIVEN} {' '.join(f'{text}, and take care.' for text in TALK)}")
    hits = memory.search(QUESTION, mode="lexical", k=100)
    favoured = [hit for hit in hits if bonus(hit, "persona")]
    assert [hit.text.startswith(GIVEN) for hit in favoured] == [True]
    assert sum(hit.entry_id == favoured[0].entry_id for hit in hits) > 1


@pytest.mark.both_engines
def test_many_messages_with_such_a_verb_do_not_hide_it(memory: Memory) -> None:
    asked = "Do you think I should take {} of these in the role you are playing?"
    say(memory, *(asked.format(number) for number in range(80)))
    given = [
        {"role": "user", "name": "Ben", "content": GIVEN},
        {"role": "assistant", "content": "The sea."},
    ]
    memory.add(given, source="new")
    for source in (None, "new"):
        hits = {hit.text: hit for hit in memory.search(QUESTION, k=200, source=source)}
        [text] = [text for text in hits if GIVEN in text]
        assert bonus(hits[text], "persona") == 3.0


@pytest.mark.both_engines
def test_a_filter_counts_for_the_messages_that_gave_a_role(memory: Memory) -> None:
    say(memory, GIVEN)
    memory.add(
        [
            {"role": "user", "content": "Act as a cook.", "metadata": {"room": "kitchen"}},
            {"role": "assistant", "content": "Yes."},
        ],
        source="kitchen",
    )
    favoured = [
        hit.text for hit in memory.search(QUESTION, k=5, source="kitchen") if bonus(hit, "persona")
    ]
    assert favoured == ["Act as a cook."]


def test_a_weight_of_nothing_leaves_it_out(memory: Memory) -> None:
    say(memory, GIVEN)
    assert not bonus(by_text(memory, QUESTION, alpha={"persona": 0})[GIVEN], "persona")


@pytest.mark.both_engines
def test_questions_asked_together_find_what_each_finds_alone(memory: Memory) -> None:
    say(memory, GIVEN)
    assert_answered_as_each_alone(memory, [QUESTION, "rain all day"])
