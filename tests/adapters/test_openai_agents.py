from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.llm.chat_server import playing, says
from treering import Memory

pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.memory import Session, SessionSettings
from openai import AsyncOpenAI

from treering.adapters.openai_agents import TreeringSession

ITEMS: list[Any] = [
    {"role": "user", "content": "Where does Miu sleep?"},
    {"type": "reasoning", "id": "r1", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"who": "Miu"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "upstairs"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text"}]},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Upstairs.", "annotations": []}],
    },
    {"role": "user", "content": ""},
    {"role": "user", "content": "ok"},
    {"role": "user", "content": "ok"},
    {"role": "user", "content": "a very long story " * 5000},
]


def test_items_come_back_exactly_as_they_were_added(memory: Memory) -> None:
    async def act() -> None:
        session = TreeringSession("s1", memory)
        assert isinstance(session, Session)
        await session.add_items(ITEMS[:4])
        await session.add_items(ITEMS[4:])
        await session.add_items([])
        assert await session.get_items() == ITEMS
        assert await TreeringSession("s1", memory).get_items(limit=2) == ITEMS[-2:]
        assert await session.get_items(limit=0) == []
        limited = TreeringSession("s1", memory, SessionSettings(limit=3))
        assert await limited.get_items() == ITEMS[-3:]

    asyncio.run(act())


def test_what_an_agent_did_is_found_by_search(memory: Memory) -> None:
    asyncio.run(TreeringSession("s1", memory).add_items(ITEMS[:6]))
    assert "Miu" in memory.search("find Miu", k=1, session="s1")[0].text
    assert memory.search("upstairs", k=1)[0].source == "session/s1"


def test_items_are_popped_latest_first_and_leave_the_bytes(memory: Memory, path: Path) -> None:
    async def act() -> None:
        session = TreeringSession("s1", memory)
        await session.add_items([*ITEMS, {"role": "user", "content": "my code is 4711-0815"}])
        assert await session.pop_item() == {"role": "user", "content": "my code is 4711-0815"}
        assert b"4711-0815" not in path.read_bytes()
        assert await session.pop_item() == ITEMS[-1]
        assert await session.get_items() == ITEMS[:-1]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.clear_session()

    asyncio.run(act())


def test_a_session_sees_and_clears_no_other_one(memory: Memory) -> None:
    async def act() -> None:
        names = ["a", "a/", "a/b", "a%2F"]
        for name in names:
            await TreeringSession(name, memory).add_items([{"role": "user", "content": name}])
        await TreeringSession("a/", memory).clear_session()
        for name in names:
            left = [] if name == "a/" else [{"role": "user", "content": name}]
            assert await TreeringSession(name, memory).get_items() == left

    asyncio.run(act())


def test_settings_may_be_a_dictionary_and_odd_characters_are_replaced(memory: Memory) -> None:
    session = TreeringSession("s1", memory, {"limit": 1})
    assert session.session_settings == SessionSettings(limit=1)
    with pytest.raises(Exception, match="limitt"):
        TreeringSession("s1", memory, {"limitt": 1})
    output: Any = {"type": "function_call_output", "call_id": "c", "output": "\0 \ud83d"}
    asyncio.run(session.add_items([output]))
    assert asyncio.run(session.get_items()) == [output | {"output": "\ufffd \ufffd"}]


def test_a_runner_goes_on_where_the_last_run_ended(memory: Memory) -> None:
    set_tracing_disabled(disabled=True)

    async def act(url: str) -> list[str]:
        client = AsyncOpenAI(base_url=url, api_key="none")
        model = OpenAIChatCompletionsModel(model="served-model", openai_client=client)
        agent = Agent(name="helper", model=model)
        replies = []
        for said in ("My cat is called Miu.", "What is my cat called?"):
            session = TreeringSession("s1", memory)
            replies.append(str((await Runner.run(agent, said, session=session)).final_output))
        await client.close()
        return replies

    with playing(says("Hello, Miu."), says("Miu.")) as server:
        assert asyncio.run(act(server.url)) == ["Hello, Miu.", "Miu."]
    sent = [message["content"] for message in server.requests[1].body["messages"]]
    assert sent[0] == "My cat is called Miu."
    assert "Hello, Miu." in str(sent[1])
    assert sent[2] == "What is my cat called?"
