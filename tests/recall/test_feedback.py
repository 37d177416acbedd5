"""Chats: the best hits of a question add their rare words to it, and support their sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedders import HashingEmbedder
from tests.recall.questions import assert_answered_as_each_alone
from treering import Hit, Memory
from treering.search.signals import feedback

QUESTION = "what did we plan for the summer"
PLAN = "for the summer we plan a trip to Lofoten"
LOFOTEN = "the cabin in Lofoten has no heating"
TALK = [
    f"number {n} of the things that people say while it rains and the day is long"
    for n in range(30)
]


def turns(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db", embedder=HashingEmbedder()) as memory:
        for number, text in enumerate(TALK[:15]):
            memory.add(turns(text), source=f"talk {number}")
        memory.add(turns(PLAN, *TALK[15:18]), source="spring")
        memory.add(turns(*TALK[18:24], LOFOTEN, *TALK[24:]), source="autumn")
        yield memory


def found(memory: Memory, text: str, **how: object) -> Hit:
    hits = memory.search(QUESTION, mode="lexical", k=40, **how)  # type: ignore[arg-type]
    [hit] = [hit for hit in hits if hit.text == text]
    return hit


def test_what_shares_a_rare_word_with_the_best_hit_is_lifted(memory: Memory) -> None:
    hit = found(memory, LOFOTEN)
    assert hit.why.terms["feedback"] > 1
    assert sum(hit.why.terms.values()) == pytest.approx(hit.score, abs=1e-4)


def test_in_a_large_space_the_words_of_the_best_hits_count_less(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The turn is of another session than the best hits: their words alone lift it.
    whole = found(memory, LOFOTEN).why.terms["feedback"]
    fragments = memory.stats().fragments
    monkeypatch.setattr(feedback, "FULL_WEIGHT_FRAGMENTS", fragments)
    assert found(memory, LOFOTEN).why.terms["feedback"] == pytest.approx(whole)
    monkeypatch.setattr(feedback, "FULL_WEIGHT_FRAGMENTS", fragments / 4)
    assert found(memory, LOFOTEN).why.terms["feedback"] == pytest.approx(whole / 2)


def test_other_turns_of_the_session_of_a_best_hit_are_lifted(memory: Memory) -> None:
    same, other = found(memory, TALK[15]), found(memory, TALK[0])
    assert same.why.terms["feedback"] > other.why.terms["feedback"]


def test_the_best_hits_make_nothing_surer(memory: Memory) -> None:
    plain = found(memory, PLAN, relations=["context", "message"])
    hit = found(memory, PLAN)
    assert hit.why.terms["feedback"] > 0
    assert hit.confidence == pytest.approx(plain.confidence, abs=1e-4)


def test_texts_beside_a_chat_get_nothing_of_it(memory: Memory) -> None:
    memory.add("The cabin in Lofoten, a text of its own.", source="text")
    for hit in memory.search(QUESTION, mode="lexical", k=40):
        assert sum(hit.why.terms.values()) == pytest.approx(hit.score, abs=1e-4)
        assert hit.kind == "chat" or hit.why.terms["feedback"] == 0


def test_several_questions_are_answered_as_each_alone(memory: Memory) -> None:
    assert_answered_as_each_alone(memory, [QUESTION, "who says that it rains", "zzz"])
