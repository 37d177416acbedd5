from __future__ import annotations

from treering import Memory


def test_a_passage_ends_with_its_session(memory: Memory) -> None:
    messages = [
        {"role": "user", "content": "The otter sleeps.", "at": "2026-01-01", "session": "one"},
        {"role": "user", "content": "The otter wakes.", "at": "2026-01-01", "session": "one"},
        {"role": "user", "content": "The otter swims.", "at": "2026-03-01", "session": "two"},
    ]
    memory.add(messages, source="chat")
    first, second = memory.context("otter", budget=200).passages
    assert first.text == "user: The otter sleeps.\nuser: The otter wakes."
    assert second.text == "user: The otter swims."
    assert (first.until, second.at) == (first.at, second.until)
