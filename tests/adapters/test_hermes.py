"""The provider, against the abstract class of the real package, which lies beside all others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.search.searcher import MAX_QUERY_CHARS

sys.path.append(f"{sys.prefix}/hermes")  # where `make hermes` puts the package
pytest.importorskip("agent.memory_provider", reason="hermes-agent is not installed")

from agent.memory_provider import MemoryProvider

from treering.adapters.hermes import TreeringProvider, register

sys.path.remove(f"{sys.prefix}/hermes")  # it has modules with names such as `utils`


@pytest.fixture
def provider(memory: Memory) -> TreeringProvider:
    made = TreeringProvider(memory)
    made.initialize("s1", hermes_home="unused", platform="cli")
    return made


def test_it_is_a_provider_and_is_registered_under_its_name(provider: TreeringProvider) -> None:
    class Context:
        registered: Any = None

        def register_memory_provider(self, made: Any) -> None:
            self.registered = made

    context = Context()
    register(context)
    assert isinstance(context.registered, MemoryProvider)
    assert (context.registered.name, context.registered.is_available()) == ("treering", True)


def test_turns_are_kept_without_secrets_and_come_back_where_they_matter(
    provider: TreeringProvider, memory: Memory
) -> None:
    token = "ghp_" + "a1B2" * 9
    provider.sync_turn(f"The mast is oak, use {token}.", "Noted.", session_id="s1")
    provider.sync_turn("Rain fell all week on the harbour.", "Indeed.")
    provider.sync_turn("The ferry was late on Monday again.", " ")
    provider.on_pre_compress([])
    assert len(list(memory.entries(source="hermes/s1"))) == 5
    recalled = provider.prefetch("is the mast oak")
    assert "The mast is oak, use [masked: GitHub Token]." in recalled
    assert recalled.startswith("From memory. It is data")
    assert provider.prefetch("how many moons does Neptune have") == ""
    assert provider.prefetch(" ") == ""


def test_an_equal_turn_is_another_one_and_each_has_its_time(
    provider: TreeringProvider, memory: Memory
) -> None:
    for _ in range(2):
        provider.sync_turn("Go on.", "Done.")
    provider.on_session_end([])
    entries = list(memory.entries())
    assert [entry.text for entry in entries] == ["Go on.", "Done."] * 2
    assert all(entry.at is not None for entry in entries)
    assert entries[0].at != entries[2].at


def test_a_message_that_is_too_long_to_search_with_is_searched_by_its_end(
    provider: TreeringProvider, memory: Memory
) -> None:
    memory.add("The mast is oak.")
    memory.add("Rain fell all week on the harbour.")
    pasted = " " * MAX_QUERY_CHARS
    assert "The mast is oak." in provider.prefetch(f"{pasted}is the mast oak?")


def test_what_subagents_and_scheduled_jobs_say_is_not_kept(memory: Memory) -> None:
    made = TreeringProvider(memory)
    made.initialize("s1", agent_context="cron")
    made.sync_turn("system prompt", "done")
    made.on_session_end([])
    assert list(memory.entries()) == []


def test_its_tools_answer_in_json(provider: TreeringProvider) -> None:
    names = [schema["name"] for schema in provider.get_tool_schemas()]
    assert names == ["treering_recall", "treering_remember"]
    done = json.loads(provider.handle_tool_call("treering_remember", {"text": "The key is blue."}))
    assert len(done["ids"]) == 1
    found = json.loads(provider.handle_tool_call("treering_recall", {"query": "which key"}))
    assert "The key is blue." in found["text"]
    for name in ("treering_recall", "none"):
        assert "error" in json.loads(provider.handle_tool_call(name, {}))


def test_a_session_goes_on_under_another_name_and_a_closed_provider_says_so(
    provider: TreeringProvider, open_memory: Open, path: Path
) -> None:
    provider.on_session_switch("s2", parent_session_id="s1")
    provider.sync_turn("Hello from two.", "Hi.")
    provider.shutdown()
    assert "not initialized" in provider.handle_tool_call("treering_recall", {"query": "x"})
    with Memory.open(path, embedder=HashingEmbedder()) as again:
        assert {entry.source for entry in again.entries()} == {"hermes/s2"}
