"""The newest of hits that contradict or repeat each other represents them."""

from __future__ import annotations

import pytest

from tests.conftest import Open
from treering import Hit, Memory

pytestmark = pytest.mark.both_engines

QUESTION = "Which town does Ana call her home now?"


def moved(memory: Memory) -> dict[str, str]:
    """Ana lives in Porto, then in Lisbon, said in words that the question has less of; the ids."""
    said = {
        "old": ("I call the town of Porto my home, which I love.", "2026-01-01"),
        "new": ("Since May it is Lisbon.", "2026-05-01"),
    }
    ids = {
        name: memory.add(text, speaker="Ana", kind="chat", source="talk", at=at).ids[0]
        for name, (text, at) in said.items()
    }
    memory.add([{"role": "user", "content": f"The bus number {n} was late."} for n in range(30)])
    memory.supersede(ids["old"], ids["new"])
    return ids


def assert_adds_up(hit: Hit) -> None:
    assert sum(hit.why.terms.values()) == pytest.approx(hit.score, abs=1e-4)


def test_the_statement_that_holds_comes_first_with_the_score_of_the_older(memory: Memory) -> None:
    ids = moved(memory)
    new, old = memory.search(QUESTION, k=2)
    assert [new.entry_id, old.entry_id] == [ids["new"], ids["old"]]
    assert new.score == old.score
    assert new.confidence >= old.confidence
    assert new.why.terms["newest"] > 0
    assert_adds_up(new)
    assert [hit.entry_id for hit in memory.search(QUESTION, k=1)] == [ids["new"]]
    sure = memory.search(QUESTION, min_confidence=old.confidence)
    assert sure[0].entry_id == ids["new"]
    passages = memory.context(QUESTION, budget=200, min_confidence=old.confidence).passages
    assert ids["new"] in {hit.entry_id for passage in passages for hit in passage.hits}


def test_a_statement_outside_the_filter_or_the_time_is_not_put_in(memory: Memory) -> None:
    ids = moved(memory)
    for where in ({"until": "2026-04-01"}, {"omit": [ids["new"]]}, {"as_of": "2026-04-01"}):
        found = memory.search(QUESTION, k=2, **where)
        assert ids["new"] not in {hit.entry_id for hit in found}
        assert found[0].entry_id == ids["old"]


def test_a_superseded_statement_that_nobody_asked_for_changes_nothing(open_memory: Open) -> None:
    memory = open_memory()
    text = "I live in Porto now. My cat Miu eats nothing but fried sardines with lemon."
    old = memory.add(text, speaker="Ana", kind="chat", at="2026-01-01").ids[0]
    memory.add("I live in Lisbon now.", speaker="Ana", kind="chat", at="2026-05-01")
    memory.add([{"role": "user", "content": f"The bus number {n} was late."} for n in range(9)])
    first = memory.search("What fried sardines does the cat eat with lemon?")[0]
    assert first.superseded_by is not None
    assert first.superseded_by.of is not None
    assert first.entry_id == old


CHECK = "Hourly check: is the pump in the cellar running? Report pump status."
BROKE = "The pump in the cellar broke on Tuesday; the plumber replaced its float."


def test_a_repeated_line_is_one_hit_and_leaves_room_for_others(memory: Memory) -> None:
    checks = [
        {"role": "user", "content": CHECK, "at": f"2026-05-{1 + n // 24:02}T{n % 24:02}:00Z"}
        for n in range(300)
    ]
    memory.add(checks, source="cron")
    memory.add([{"role": "user", "content": text} for text in (BROKE, "The cellar is dry.")])
    hits = memory.search("What happened to the pump in the cellar?", k=10)
    assert sorted(hit.text for hit in hits) == sorted([CHECK, BROKE, "The cellar is dry."])
    [repeated] = [hit for hit in hits if hit.text == CHECK]
    assert (repeated.times, repeated.was) == (300, ())
    assert str(repeated.at) == "2026-05-13 11:00:00+00:00"
    assert len(memory.search("pump in the cellar", k=10, all=True)) == 10


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        (
            "The chair of Fatah is Mahmoud Abbas.",
            "The chair of Fatah is Ana Silva.",
            "chair of Fatah",
        ),
        (
            "Das geheime Passwort lautet Ofen.",
            "Das geheime Passwort lautet Kerze.",
            "Wie lautet das Passwort?",
        ),
        ("うちの猫の名前はミケです。", "うちの猫の名前はタマです。", "猫の名前"),
        (
            "The seat of Bonn Labs is in Bonn.",
            "The seat of Bonn Labs is in Ulm.",
            "seat of Bonn Labs",
        ),
    ],
)
def test_the_newest_value_represents_the_older_ones(
    memory: Memory, older: str, newer: str, question: str
) -> None:
    said = [older, "Nothing else is known.", older, newer, "The bus was late."]
    memory.add([{"role": "user", "content": text} for text in said])
    first, *others = memory.search(question, k=3)
    assert (first.text, first.times) == (newer, 1)
    assert [(folded.text, folded.times) for folded in first.was] == [(older, 2)]
    assert {hit.text for hit in others} == {"Nothing else is known.", "The bus was late."}
    assert_adds_up(first)
    scores = [hit.score for hit in memory.search(question, k=5, all=True)]
    assert first.score == scores[0]


@pytest.mark.parametrize(
    ("one", "other", "question"),
    [
        (
            "Ana was born in the city of Porto.",
            "Ben was born in the city of Porto.",
            "born in Porto",
        ),
        ("The dog of Ana Lima is old.", "The dog of Ben Lima is young.", "Whose dog is old?"),
        ("The train to Berlin is late.", "The train to Hamburg is late.", "train to Berlin"),
        (
            "Which of them had the larger lamp?",
            "Which of them had the larger pipe?",
            "lamps, pipes",
        ),
        ("I bought a bike.", "I bought a car.", "What did I buy?"),
        ("我昨天去了北京。", "我昨天去了上海。", "我去了哪里"),
        ("The boat is red.", "The boat is red and has two masts.", "boat"),
    ],
)
def test_texts_that_speak_of_different_things_stay_apart(
    memory: Memory, one: str, other: str, question: str
) -> None:
    memory.add([{"role": "user", "content": text} for text in (one, other, "Nothing else.")])
    assert {one, other} <= {hit.text for hit in memory.search(question)}


def test_speakers_and_code_stay_apart(memory: Memory) -> None:
    memory.add([{"role": "user", "name": name, "content": "See you soon!"} for name in "AB"])
    memory.add("return soon", kind="code", source="a.py")
    memory.add("return soon", kind="code", source="b.py")
    assert len(memory.search("soon")) == 4
    memory.add("The wait of the queue is 10", kind="code", source="c.py")
    memory.add("The wait of the queue is 20", source="note")
    assert len(memory.search("wait of the queue", k=2)) == 2
    assert [hit.was for hit in memory.search("wait of the queue", k=2)] == [(), ()]


def test_texts_of_the_time_that_a_question_names_stay_apart_from_newer_ones(memory: Memory) -> None:
    for month in (4, 5, 6):
        said = f"We went to the lake in weather number {month}."
        memory.add(said, kind="chat", source=f"{month}", at=f"2026-{month:02}-01")
    first = memory.search("Where did we go in May 2026?")[0]
    assert (first.source, first.was) == ("5", ())
