"""Messages that take up the one before them are found with it."""

from __future__ import annotations

import pytest

from tests.recall.questions import TALK, assert_answered_as_each_alone, bonus, by_text
from treering import Memory

TASK = "List three painters of the Renaissance and what each painted."
TAKES_UP = "Amend your earlier answer: one sentence each."
QUESTION = "painters of the Renaissance"


def say(memory: Memory, *turns: tuple[str, str]) -> None:
    """A chat with an assistant, with talk before and after."""
    talk = [("user", text) for text in TALK]
    said = [*talk[:12], *turns, *talk[12:]]
    memory.add([{"role": who, "content": text} for who, text in said], source="chat")


@pytest.mark.parametrize(
    "text",
    [
        TAKES_UP,
        "Please explain your last two answers.",
        "Do the same task again, in fewer words.",
        "Summarise the above in a haiku.",
        "What is wrong with the previous solution?",
    ],
)
def test_a_message_that_takes_up_the_one_before_gets_half_of_what_it_lacks(
    memory: Memory, text: str
) -> None:
    say(memory, ("user", TASK), ("user", text))
    hits, plain = by_text(memory, QUESTION), by_text(memory, QUESTION, alpha={"follow-up": 0})
    given = bonus(hits[text], "follow-up")
    without_feedback = [hit.score - bonus(hit, "feedback") for hit in (plain[TASK], plain[text])]
    assert given == pytest.approx((without_feedback[0] - without_feedback[1]) / 2, abs=1e-3)
    assert given > 1
    assert list(hits)[:2] == [TASK, text]
    assert not bonus(hits[TASK], "follow-up")


@pytest.mark.parametrize("text", ["I had an answer in May.", "The same to you, and a good day."])
def test_what_takes_up_nothing_gets_nothing(memory: Memory, text: str) -> None:
    say(memory, ("user", TASK), ("user", text))
    assert not bonus(by_text(memory, QUESTION)[text], "follow-up")


def test_what_takes_up_a_message_that_takes_up_another_is_found_too(memory: Memory) -> None:
    last = "Explain your answer with one word."
    say(memory, ("user", TASK), ("user", TAKES_UP), ("user", last))
    hits = by_text(memory, QUESTION)
    assert list(hits)[:3] == [TASK, TAKES_UP, last]
    before = hits[TAKES_UP].score - bonus(hits[TAKES_UP], "feedback")
    here = hits[last].score - bonus(hits[last], "feedback")
    assert before - here == pytest.approx(bonus(hits[last], "follow-up"), abs=1e-3)


def test_what_an_assistant_says_takes_up_nothing(memory: Memory) -> None:
    text = "Your question is a good one, and your answer as well."
    say(memory, ("user", TASK), ("assistant", text))
    assert not bonus(by_text(memory, QUESTION)[text], "follow-up")


def test_a_long_reply_is_taken_up_by_the_best_of_its_pieces(memory: Memory) -> None:
    filler = " ".join(f"{text}." for text in TALK)
    reply = f"{filler} The painters of the Renaissance were Giotto and Raphael. {filler}"
    say(memory, ("user", "Who was it?"), ("assistant", reply), ("user", TAKES_UP))
    pieces = memory.search(QUESTION, mode="lexical", k=100)
    assert sum(hit.speaker == "assistant" for hit in pieces) > 2
    (hit,) = [hit for hit in pieces if hit.text == TAKES_UP]
    best = max(hit.score - bonus(hit, "feedback") for hit in pieces if hit.speaker == "assistant")
    here = hit.score - bonus(hit, "feedback")
    assert best - here == pytest.approx(bonus(hit, "follow-up"), abs=1e-3)


def test_what_begins_a_session_takes_up_nothing(memory: Memory) -> None:
    turns = [(TASK, "1"), (TAKES_UP, "2"), *((text, "2") for text in TALK)]
    memory.add(
        [{"role": "user", "content": text, "session": session} for text, session in turns],
        source="chat",
    )
    assert not bonus(by_text(memory, QUESTION)[TAKES_UP], "follow-up")


def test_the_first_message_of_a_source_takes_up_nothing(memory: Memory) -> None:
    memory.add([{"role": "user", "content": text} for text in (*TALK, TASK)], source="a")
    memory.add([{"role": "user", "content": text} for text in (TAKES_UP, *TALK)], source="b")
    assert not bonus(by_text(memory, QUESTION)[TAKES_UP], "follow-up")


def test_a_message_that_answers_better_than_the_one_before_lends_nothing_from_it(
    memory: Memory,
) -> None:
    better = "In your answer, which painters of the Renaissance did you leave out?"
    say(memory, ("user", TALK[0]), ("user", better))
    assert not bonus(by_text(memory, QUESTION)[better], "follow-up")


def test_it_makes_no_hit_surer(memory: Memory) -> None:
    say(memory, ("user", TASK), ("user", TAKES_UP))
    hits, plain = by_text(memory, QUESTION), by_text(memory, QUESTION, alpha={"follow-up": 0})
    assert hits[TAKES_UP].confidence == pytest.approx(plain[TAKES_UP].confidence)


@pytest.mark.both_engines
def test_a_filter_that_leaves_the_message_before_out_changes_nothing(memory: Memory) -> None:
    turns = [("ana", TASK), ("ben", TAKES_UP), *(("ana", text) for text in TALK)]
    memory.add([{"role": "user", "name": who, "content": text} for who, text in turns], source="t")
    whole = bonus(by_text(memory, QUESTION)[TAKES_UP], "follow-up")
    filtered = by_text(memory, QUESTION, speaker="ben")
    assert list(filtered) == [TAKES_UP]
    assert bonus(filtered[TAKES_UP], "follow-up") == pytest.approx(whole)
    assert whole > 1


def test_documents_take_up_nothing(memory: Memory) -> None:
    memory.add(f"{TASK}\n\n{TAKES_UP}", source="notes.md")
    for number, text in enumerate(TALK):
        memory.add(text, source=f"talk {number}")
    hits = memory.search(QUESTION, mode="lexical", k=100)
    assert all("follow-up" not in hit.why.terms for hit in hits)


@pytest.mark.both_engines
def test_questions_asked_together_find_what_each_finds_alone(memory: Memory) -> None:
    say(memory, ("user", TASK), ("user", TAKES_UP))
    assert_answered_as_each_alone(memory, [QUESTION, "rain all day", TASK])
