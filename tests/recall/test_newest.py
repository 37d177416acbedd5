"""The newest of hits that contradict each other represents them, in searches and contexts."""

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
