"""A reply as it is written: its round is remembered when it is complete, and not before."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import AsyncMemory
from treering.errors import InputError, LLMUnavailable
from treering.llm.scripted import FakeLLM, Request


def test_the_pieces_of_a_reply_are_the_reply_that_is_remembered(open_memory: Open) -> None:
    memory = open_memory(llm=FakeLLM(["Nice to meet you, Ana."]))
    with memory.chat_stream("I am Ana.") as stream:
        pieces = []
        for piece in stream:
            assert stream.answer is None
            pieces.append(piece)
    assert "".join(pieces) == "Nice to meet you, Ana."
    assert stream.answer is not None
    assert stream.answer.text == "Nice to meet you, Ana."
    assert [entry.text for entry in memory.entries()] == ["I am Ana.", "Nice to meet you, Ana."]
    assert memory.stats().spent[0].operation == "chat"
    assert list(stream) == []
    assert memory.stats().entries == 2


def test_after_a_stream_that_was_left_early_the_message_is_not_kept_twice(
    open_memory: Open,
) -> None:
    memory = open_memory(llm=FakeLLM(["Nice to meet you, Ana.", "Hello."]))
    with memory.chat_stream("I am Ana.") as stream:
        next(stream)
    assert stream.answer is None
    with pytest.raises(InputError):
        next(stream)
    assert [entry.text for entry in memory.entries()] == ["I am Ana."]
    with memory.chat_stream("I am Ana.") as stream:
        assert "".join(stream) == "Hello."
    assert list(stream) == []
    assert [entry.text for entry in memory.entries()] == ["I am Ana.", "Hello."]


def test_a_model_that_fails_raises_while_it_is_read(open_memory: Open) -> None:
    memory = open_memory(llm=FakeLLM([LLMUnavailable("down"), "Hello."]))
    stream = memory.chat_stream("Hi?")
    with pytest.raises(LLMUnavailable):
        next(stream)
    assert [entry.text for entry in memory.entries()] == ["Hi?"]
    assert "".join(memory.chat_stream("Hi?")) == "Hello."
    assert [entry.text for entry in memory.entries()] == ["Hi?", "Hello."]


def test_a_piece_that_is_waited_for_in_vain_can_be_left_and_the_message_said_again(
    path: Path,
) -> None:
    release, asked = threading.Event(), threading.Event()

    def hang(_: Request) -> None:
        asked.set()
        release.wait(10)

    async def talk() -> list[str]:
        llm = FakeLLM(["Too late.", "Hello."], before_reply=hang)
        async with await AsyncMemory.open(path, embedder=HashingEmbedder(), llm=llm) as memory:
            with pytest.raises(TimeoutError):
                async with await memory.chat_stream("Hi?") as stream:
                    waiting = asyncio.ensure_future(anext(stream))
                    await asyncio.to_thread(asked.wait, 10)
                    await asyncio.wait_for(waiting, 0)
            release.set()
            assert stream.answer is None
            assert (await memory.chat("Hi?")).text == "Hello."
            return [entry.text async for entry in memory.entries()]

    assert asyncio.run(talk()) == ["Hi?", "Hello."]


def test_a_reply_is_read_piece_by_piece_without_blocking_the_loop(path: Path) -> None:
    async def talk() -> tuple[list[str], list[str]]:
        llm = FakeLLM(["Nice to meet you."])
        async with await AsyncMemory.open(path, embedder=HashingEmbedder(), llm=llm) as memory:
            async with await memory.chat_stream("I am Ana.") as stream:
                pieces = [piece async for piece in stream]
            assert stream.answer is not None
            return pieces, [entry.text async for entry in memory.entries()]

    pieces, remembered = asyncio.run(talk())
    assert (len(pieces), "".join(pieces)) == (4, "Nice to meet you.")
    assert remembered == ["I am Ana.", "Nice to meet you."]
