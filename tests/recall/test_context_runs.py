from __future__ import annotations

from pathlib import Path

from tests.cli.plugins.treering_test_plugins import Hashing
from treering import Memory


def test_a_passage_ends_with_its_session(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "The otter sleeps.", "at": "2026-01-01", "session": "one"},
        {"role": "user", "content": "The otter wakes.", "at": "2026-01-01", "session": "one"},
        {"role": "user", "content": "The otter swims.", "at": "2026-03-01", "session": "two"},
    ]
    with Memory.open(tmp_path / "life.db", embedder=Hashing()) as memory:
        memory.add(messages, source="chat")
        first, second = memory.context("otter", budget=200).passages
    assert first.text == "user: The otter sleeps.\nuser: The otter wakes."
    assert second.text == "user: The otter swims."
    assert (first.until, second.at) == (first.at, second.until)
