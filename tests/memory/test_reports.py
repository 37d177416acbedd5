"""Public bug reports of other memory projects, tried here; docs/explanation/reliability.md."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.conftest import Open
from treering import Memory
from treering.errors import TextEncodingError, TreeringError


def test_mem0_3928_to_forget_all_of_one_user_leaves_the_others(open_memory: Open) -> None:
    ana, bob = open_memory(space="ana"), open_memory(space="bob")
    for memory in (ana, bob):
        memory.add("I like pizza.", source="chat", speaker="me")
        memory.add("I like pasta.", source="chat", speaker="guest")
    ana.forget(source="chat")
    bob.forget(speaker="guest")
    assert list(ana.entries()) == []
    assert [entry.text for entry in bob.entries()] == ["I like pizza."]
    assert [hit.text for hit in bob.search("pizza")] == ["I like pizza."]


def test_graphiti_1865_a_fact_that_becomes_true_again_is_a_statement_of_its_own(
    memory: Memory,
) -> None:
    said = (("2025-01-10", "Berlin"), ("2025-06-01", "Porto"), ("2026-02-01", "Berlin"))
    for at, city in said:
        memory.add(f"I live in {city}.", speaker="Ana", at=at, kind="chat")
    assert len(list(memory.entries())) == 3
    assert [fact.value for fact in memory.facts.all("Ana")] == ["Berlin", "Porto", "Berlin"]
    for as_of, city in (("2025-03-01", "Berlin"), ("2025-08-01", "Porto"), (None, "Berlin")):
        assert {fact.value for fact in memory.facts.current("Ana", as_of=as_of)} == {city}


def test_graphiti_920_times_with_and_without_a_zone_are_compared(memory: Memory) -> None:
    memory.add("I live in Berlin.", speaker="Ana", at=datetime(2025, 1, 10, 9), kind="chat")
    memory.add(
        "I live in Porto.", speaker="Ana", at=datetime(2025, 6, 1, 9, tzinfo=UTC), kind="chat"
    )
    [fact] = memory.facts.current("Ana")
    assert fact.value == "Porto"
    for since in ("2025-03-01", datetime(2025, 3, 1), datetime(2025, 3, 1, tzinfo=UTC)):
        assert [entry.text for entry in memory.entries(since=since)] == ["I live in Porto."]


def test_letta_code_4195_a_restore_that_fails_changes_nothing(memory: Memory) -> None:
    memory.add("The boiler is 13 years old.")
    before = list(memory.entries())
    lines = list(memory.export())
    broken = [lines[0], lines[1].replace("boiler", "stove").replace('"id"', '"ID"'), "{cut"]
    with pytest.raises(TreeringError):
        memory.import_(broken)
    assert list(memory.entries()) == before
    assert memory.check() == []


def test_hindsight_4_half_of_an_emoji_is_refused_by_its_place_and_nothing_breaks(
    memory: Memory,
) -> None:
    with pytest.raises(TextEncodingError):
        memory.add([{"content": "We met at the lake."}, {"content": "It was fun \ud83d"}])
    assert list(memory.entries()) == []


def test_langgraph_5946_values_are_found_in_any_script(open_memory: Open) -> None:
    adapter = pytest.importorskip("treering.adapters.langgraph")
    store = adapter.TreeringStore(open_memory(embedder=None))
    for key, text in (("1", "I love pizza"), ("2", "这是中文"), ("3", "これは日本語です")):
        store.put(("ana", "memories"), key, {"text": text})
    for key, query in (("2", "中文"), ("3", "日本語")):
        found = store.search(("ana", "memories"), query=query)
        assert found[0].key == key
