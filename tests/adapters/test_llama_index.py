from __future__ import annotations

import asyncio

import pytest

from treering import Memory
from treering.llm.tokens import estimate_tokens

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import InsertMethod
from llama_index.core.memory import Memory as AgentMemory
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from treering.adapters.llama_index import TreeringMemoryBlock, TreeringRetriever


def test_the_retriever_gives_nodes_best_first(memory: Memory) -> None:
    memory.add("Miu the cat sleeps upstairs.", source="home")
    memory.add("The harbour freezes in January.", source="town")
    retriever = TreeringRetriever(memory, k=2)
    found = retriever.retrieve("where does the cat sleep")
    assert found[0].node.get_content() == "Miu the cat sleeps upstairs."
    assert found[0].node.metadata["source"] == "home"
    assert found[0].score is not None
    assert found[0].score > (found[1].score or 0.0)
    again = asyncio.run(retriever.aretrieve("where does the cat sleep"))
    assert [one.node.node_id for one in again] == [one.node.node_id for one in found]
    [town] = TreeringRetriever(memory, where={"source": "town"}).retrieve("cat")
    assert town.node.metadata["source"] == "town"


def test_what_short_term_memory_lets_go_comes_back_when_it_matters(memory: Memory) -> None:
    block = TreeringMemoryBlock(memory=memory, budget=60)

    async def converse() -> list[ChatMessage]:
        engine = create_async_engine("sqlite+aiosqlite:///:memory:", poolclass=StaticPool)
        agent = AgentMemory.from_defaults(
            session_id="s1",
            token_limit=120,
            chat_history_token_ratio=0.3,
            token_flush_size=20,
            memory_blocks=[block],
            insert_method=InsertMethod.SYSTEM,
            async_engine=engine,
        )
        await agent.aput(ChatMessage(role="user", content="My cat Miu sleeps upstairs."))
        await agent.aput(ChatMessage(role="assistant", content="How nice for Miu."))
        for number in range(10):
            await agent.aput(ChatMessage(role="user", content=f"Tell me of harbour {number}."))
            await agent.aput(ChatMessage(role="assistant", content=f"Harbour {number} is deep."))
        shown: list[ChatMessage] = await agent.aget(input="Where does my cat sleep?")
        await engine.dispose()
        return shown

    shown = asyncio.run(converse())
    assert any(entry.text == "My cat Miu sleeps upstairs." for entry in memory.entries())
    assert {entry.session for entry in memory.entries()} == {"s1"}
    [system] = [one for one in shown if one.role == "system"]
    assert "My cat Miu sleeps upstairs." in (system.content or "")


def test_a_block_keeps_to_its_budget_and_is_empty_without_a_question(memory: Memory) -> None:
    for number in range(20):
        memory.add(f"Harbour {number} has {number} berths.")
    block = TreeringMemoryBlock(memory=memory, budget=50)
    text = asyncio.run(block.aget([ChatMessage(role="user", content="harbour berths")]))
    assert 0 < estimate_tokens(text) <= 50
    assert asyncio.run(block.aget([ChatMessage(role="assistant", content="hello")])) == ""
    assert asyncio.run(block.aget()) == ""


def test_characters_that_cannot_be_stored_are_replaced(memory: Memory) -> None:
    block = TreeringMemoryBlock(memory=memory)
    asyncio.run(block.aput([ChatMessage(role="tool", content="\0 printed \ud83d")]))
    assert [entry.text for entry in memory.entries()] == ["\ufffd printed \ufffd"]
