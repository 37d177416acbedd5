"""Facts that change, in a memory: shown where the older one is found, and gone when forgotten."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.conftest import Open
from treering import Memory
from treering.llm.scripted import ScriptedLLM
from treering.views.facts import store
from treering.views.facts.record import Statement


def moved(memory: Memory) -> tuple[str, str]:
    """Ana lives in Berlin, then moves to Porto; the ids of the two entries."""
    [older] = memory.add(
        "I live in Berlin near the river.", speaker="Ana", kind="chat", at="2025-01-10"
    ).ids
    [newer] = memory.add(
        "Guess what. I moved to Porto.", speaker="Ana", kind="chat", at="2026-05-03"
    ).ids
    return older, newer


def test_a_hit_says_that_it_is_superseded_and_by_what(memory: Memory) -> None:
    older, newer = moved(memory)
    hits = {hit.entry_id: hit for hit in memory.search("Where does Ana live, in Berlin?")}
    against = hits[older].superseded_by
    assert against is not None
    assert (against.entry_id, against.text) == (newer, "I moved to Porto.")
    assert hits[newer].superseded_by is None
    assert {entry.id for entry in memory.entries()} == {older, newer}


def test_entries_that_are_listed_or_got_say_it_too(memory: Memory) -> None:
    older, newer = moved(memory)
    listed = {entry.id: entry for entry in memory.entries()}
    against = listed[older].superseded_by
    assert against is not None
    assert (against.entry_id, against.text) == (newer, "I moved to Porto.")
    assert memory.get(older) == listed[older]
    assert listed[newer].superseded_by is None
    memory.forget(newer)
    assert memory.get(older).superseded_by is None


def test_a_note_dates_other_notes_of_its_source_only(memory: Memory) -> None:
    [other] = memory.add("Rents in Berlin are high.", source="guide.txt").ids
    [mine] = memory.add("Berlin is cold.", source="diary").ids
    memory.add("I live in Berlin.", source="diary")
    memory.add("I moved to Porto.", source="diary")
    hits = {hit.entry_id: hit for hit in memory.search("Berlin")}
    assert hits[mine].stale is not None
    assert hits[other].stale is None


def test_the_newer_statement_wins_in_a_context_with_its_date(memory: Memory) -> None:
    moved(memory)
    text = str(memory.context("Ana live Berlin near the river"))
    assert "2026-05-03" in text
    assert "Ana: Guess what. I moved to Porto." in text
    assert "near the river. (superseded since 2026-05-03: I moved to Porto.)" in text


def test_the_newer_statement_comes_first_where_only_one_fits(memory: Memory) -> None:
    moved(memory)
    text = str(memory.context("I live in Berlin near the river", budget=40))
    assert "I moved to Porto." in text
    assert "near the river" not in text


def test_what_names_the_superseded_value_may_be_out_of_date(memory: Memory) -> None:
    [related] = memory.add(
        "Rents in Berlin are high.", speaker="Ana", kind="chat", at="2025-02-01"
    ).ids
    [other] = memory.add("Berlin is cold.", speaker="Ben", kind="chat", at="2025-02-01").ids
    moved(memory)
    hits = {hit.entry_id: hit for hit in memory.search("Berlin")}
    assert hits[related].stale is not None
    assert hits[related].superseded_by is None
    assert hits[other].stale is None
    assert "(possibly out of date since 2026-05-03: I moved to Porto.)" in str(
        memory.context("Rents in Berlin")
    )


def test_facts_are_listed_with_what_superseded_them(memory: Memory) -> None:
    older, newer = moved(memory)
    [current] = memory.facts.current("Ana")
    assert (current.attribute, current.value, current.entry_id) == ("home", "Porto", newer)
    [first, second] = memory.facts.all()
    assert (first.entry_id, first.superseded_by is not None, second.entry_id) == (
        older,
        True,
        newer,
    )
    [change] = memory.facts.changes()
    assert (change.entry_id, change.newer.entry_id, change.made_by) == (older, newer, "forms")


def test_the_time_of_saying_decides_not_that_of_adding(memory: Memory) -> None:
    memory.add("I moved to Porto.", speaker="Ana", kind="chat", at="2026-05-03")
    [late] = memory.add("I live in Berlin.", speaker="Ana", kind="chat", at="2025-01-10").ids
    [change] = memory.facts.changes()
    assert change.entry_id == late


def test_forgetting_the_newer_statement_lets_the_older_one_hold(memory: Memory, path: Path) -> None:
    older, newer = moved(memory)
    assert memory.forget(newer).views["statements"] == 1
    assert memory.facts.changes() == []
    assert [fact.entry_id for fact in memory.facts.current()] == [older]
    memory.forget(older)
    assert memory.facts.all() == []
    memory.close()
    data = b"".join(file.read_bytes() for file in path.parent.glob(path.name + "*"))
    for word in (b"Berlin", b"Porto"):
        assert word not in data


def test_forgetting_a_related_entry_with_its_fact_leaves_no_mark(memory: Memory) -> None:
    memory.add("Rents in Berlin are high.", speaker="Ana", kind="chat", at="2025-02-01")
    moved(memory)
    memory.forget(speaker="Ana")
    assert memory.facts.all() == []
    assert memory.check() == []


def test_an_entry_with_another_text_is_read_again(memory: Memory) -> None:
    older, newer = moved(memory)
    memory.replace(newer, "I visited Porto.")
    assert memory.facts.changes() == []
    memory.replace(newer, "I moved to Lisbon.")
    [change] = memory.facts.changes()
    assert (change.entry_id, change.newer.text) == (older, "I moved to Lisbon.")


def test_facts_are_found_again_in_an_import(open_memory: Open, tmp_path: Path) -> None:
    with open_memory() as memory:
        moved(memory)
        lines = list(memory.export())
    other = open_memory(tmp_path / "other.db")
    other.import_(lines)
    assert [change.newer.text for change in other.facts.changes()] == ["I moved to Porto."]


def test_what_else_an_entry_says_still_holds(memory: Memory) -> None:
    [older] = memory.add(
        "I live in Porto. My email is ana@x.com.", speaker="Ana", kind="chat", at="2025-01-10"
    ).ids
    memory.add("I moved to Oslo.", speaker="Ana", kind="chat", at="2026-05-03")
    assert {(fact.attribute, fact.value) for fact in memory.facts.current()} == {
        ("email", "ana@x.com"),
        ("home", "Oslo"),
    }
    [hit] = [one for one in memory.search("email of Ana") if one.entry_id == older]
    assert hit.superseded_by is not None
    assert hit.superseded_by.of == "I live in Porto."
    shown = str(memory.context("email of Ana"))
    assert '("I live in Porto." is superseded since 2026-05-03: I moved to Oslo.)' in shown


@pytest.mark.parametrize(
    ("said", "of"),
    [
        ("I live in Berlin, but Berlin is loud.", "I live in Berlin"),
        ("I live in Paris, and parisians are proud.", "I live in Paris"),
        ("I'm allergic to penicillin, and I live in Porto.", "I live in Porto."),
        ("I live in Porto and my sister works in Braga.", "I live in Porto"),
        ("My sister is Maria; I live in Porto.", "I live in Porto."),
        ("I live in Porto.", None),
    ],
)
def test_a_mark_names_the_superseded_clause_of_a_longer_text(
    memory: Memory, said: str, of: str | None
) -> None:
    [older] = memory.add(said, speaker="Ana", kind="chat", at="2025-01-10").ids
    memory.add("I moved to Oslo.", speaker="Ana", kind="chat", at="2026-05-03")
    [hit] = [hit for hit in memory.search("home of Ana") if hit.entry_id == older]
    assert hit.superseded_by is not None
    assert hit.superseded_by.of == of
    [then, *_] = memory.search(said, k=1, as_of="2026-06-01")
    assert then.superseded_by is not None
    assert then.superseded_by.of == of


def test_what_a_person_does_to_memos_is_no_testimony(open_memory: Open) -> None:
    reply = '[{"topic": "home", "summary": "Ana lives in Oslo.", "start": 1, "end": %d}]'
    memory = open_memory(llm=ScriptedLLM([reply % 9]))
    for number in range(13):
        memory.add(f"Row {number} on the river.", speaker="Ana", kind="chat", source="talk")
    memory.memos.settle()
    [memo] = memory.memos.list()
    memory.memos.edit(memo.id, summary="Ana lives in Berlin.")
    assert memory.facts.all() == []


def test_one_more_habit_of_many_is_read_without_the_others(memory: Memory) -> None:
    for number in range(20):
        memory.add(f"I like river {number}.", speaker="Ana", kind="chat")
    memory.add("I don't like river 7 any more.", speaker="Ana", kind="chat")
    [change] = memory.facts.changes()
    assert change.text == "I like river 7."
    memory.add("I like river 7 again.", speaker="Ana", kind="chat")
    assert memory.facts.changes() == []


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


def test_facts_of_a_chat_belong_to_its_speaker(open_memory: Open) -> None:
    memory = open_memory(llm=ScriptedLLM(["Nice."] * 3))
    memory.chat("I live in Porto.", speaker="Ana")
    with memory.chat_stream("I moved to Lisbon.", speaker="Ana") as stream:
        list(stream)
    assert [(fact.subject, fact.value) for fact in memory.facts.current()] == [("ana", "Lisbon")]
    assert [entry.speaker for entry in memory.entries()] == ["Ana", "assistant"] * 2


def test_whether_a_habit_can_change_is_answered_without_reading_all_habits(memory: Memory) -> None:
    group = ("ana", "habit")
    memory.add("Something.")
    connection = memory._database._pool.connection()  # type: ignore[attr-defined]

    def steps() -> int:
        taken = itertools.count()
        connection.set_progress_handler(lambda: next(taken) < 0, 1)
        with memory._space.read() as reader:
            assert not store.may_change(reader, group)
        connection.set_progress_handler(None, 1)
        return next(taken)

    few = steps()
    runs = Statement(*group, "run 5 km", "holds", 0, 4, False, "ana")
    with memory._space.write() as writer:
        store.put(writer, 1, 0, [runs] * 500)
    assert steps() < few + 20
