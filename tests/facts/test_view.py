"""Facts that change, in a memory: shown where the older one is found, and gone when forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Open
from treering import Memory
from treering.llm.scripted import FakeLLM
from treering.views.facts import store
from treering.views.facts.change import DatedStatement


def say(memory: Memory, text: str, at: str = "2026-05-03", speaker: str = "Ana") -> str:
    return memory.add(text, speaker=speaker, kind="chat", at=at).ids[0]


def moved(memory: Memory) -> tuple[str, str]:
    """Ana lives in Berlin, then moves to Porto; the ids of the two entries."""
    older = say(memory, "I live in Berlin near the river.", "2025-01-10")
    return older, say(memory, "Guess what. I relocated to Porto.")


def test_a_hit_says_that_it_is_superseded_and_by_what(memory: Memory) -> None:
    older, newer = moved(memory)
    hits = {hit.entry_id: hit for hit in memory.search("Where does Ana live, in Berlin?")}
    against = hits[older].superseded_by
    assert against is not None
    assert (against.entry_id, against.text) == (newer, "I relocated to Porto.")
    assert hits[newer].superseded_by is None
    assert {entry.id for entry in memory.entries()} == {older, newer}


def test_facts_are_listed_with_what_superseded_them(memory: Memory) -> None:
    older, newer = moved(memory)
    [current] = memory.facts.current("Ana")
    assert (current.attribute, current.value, current.entry_id) == ("home", "Porto", newer)
    [first, second] = memory.facts.all()
    assert first.superseded_by is not None
    assert (first.entry_id, first.superseded_by.entry_id) == (older, newer)
    assert (second.entry_id, second.superseded_by, second.reader) == (newer, None, "forms")


def test_an_entry_with_another_text_is_read_again(memory: Memory) -> None:
    older, newer = moved(memory)
    memory.replace(newer, "I visited Porto.")
    assert memory.get(older).superseded_by is None
    memory.replace(newer, "I relocated to Lisbon.")
    against = memory.get(older).superseded_by
    assert against is not None
    assert (against.entry_id, against.text) == (newer, "I relocated to Lisbon.")


@pytest.mark.parametrize(
    ("said", "of"),
    [
        ("I live in Berlin, but Berlin is loud.", "I live in Berlin"),
        ("I'm allergic to penicillin, and I live in Porto.", "I live in Porto."),
        ("My sister is Maria; I live in Porto.", "I live in Porto."),
        ("I live in Porto.", None),
    ],
)
def test_a_mark_names_the_superseded_clause_of_a_longer_text(
    memory: Memory, said: str, of: str | None
) -> None:
    older = say(memory, said, "2025-01-10")
    say(memory, "I relocated to Oslo.")
    [hit] = [hit for hit in memory.search("home of Ana") if hit.entry_id == older]
    assert hit.superseded_by is not None
    assert hit.superseded_by.of == of
    [then] = [hit for hit in memory.search(said, as_of="2026-06-01") if hit.entry_id == older]
    assert then.superseded_by is not None
    assert then.superseded_by.of == of


def test_what_a_person_does_to_memos_is_no_testimony(open_memory: Open) -> None:
    reply = '[{"topic": "home", "summary": "Ana lives in Oslo.", "start": 1, "end": %d}]'
    memory = open_memory(llm=FakeLLM([reply % 9]))
    for number in range(13):
        memory.add(f"Row {number} on the river.", speaker="Ana", kind="chat", source="talk")
    memory.memos.settle()
    [memo] = memory.memos.list()
    memory.memos.edit(memo.id, summary="Ana lives in Berlin.")
    assert memory.facts.all() == []


def test_the_user_of_a_chat_is_called_by_the_name_that_they_give(memory: Memory) -> None:
    memory.add(
        [
            {"role": "user", "content": "Hi! My name is Ana."},
            {"role": "assistant", "content": "I'm Bot. I live in Berlin."},
            {"role": "user", "content": "I live in Porto. My sister lives in Rome."},
        ]
    )
    about = {(fact.subject, fact.value) for fact in memory.facts.current("ana")}
    assert about == {("ana", "Ana"), ("ana", "Porto")}
    assert [fact.value for fact in memory.facts.current("Ana's sister")] == ["Rome"]
    assert {fact.value for fact in memory.facts.current("user")} == {"Ana", "Porto"}


@pytest.mark.both_engines
@pytest.mark.parametrize("as_of", [None, "2026-06-01"])
def test_the_facts_of_one_subject_are_read_without_those_of_others(
    memory: Memory, as_of: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newer = moved(memory)
    for n in range(50):
        say(memory, "I live in Rome. I'm 31.", "2026-01-01", f"Ben {n}")
    loaded = list[DatedStatement]()

    def load(*asked: Any) -> list[DatedStatement]:
        found = read(*asked)
        loaded.extend(found)
        return found

    read = store.dated_statements
    monkeypatch.setattr(store, "dated_statements", load)
    assert [fact.entry_id for fact in memory.facts.current("Ana", as_of)] == [newer]
    found = memory.facts.history("Ana", "residence", as_of)
    assert [fact.entry_id for fact in found] == [older, newer]
    assert {one.statement.subject for one in loaded} == {"ana"}
