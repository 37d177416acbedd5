from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.embedders import HashingEmbedder
from tools.generate_async import PROXIES, STUB, generate
from treering import AsyncMemory, Memory
from treering.aio.proxy import PAGE, AsyncChatStream, AsyncProxy
from treering.arrays import Floats
from treering.errors import InputError, JournalError
from treering.llm.scripted import FakeLLM

Test = Callable[[AsyncMemory], Coroutine[Any, Any, None]]
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Test], None]:
    """Runs a test's coroutine with an open memory."""

    def running(test: Test) -> None:
        async def opened() -> None:
            path = tmp_path / "life.db"
            async with await AsyncMemory.open(path, embedder=HashingEmbedder()) as memory:
                await test(memory)

        asyncio.run(opened())

    return running


def test_the_types_are_up_to_date() -> None:
    assert STUB.read_text("utf-8") == generate(), "run: python -m tools.generate_async"


@pytest.mark.parametrize("proxy", PROXIES.values())
def test_a_proxy_has_the_methods_of_its_source_with_their_signatures_and_docstrings(
    proxy: type[AsyncProxy],
) -> None:
    for name, method in inspect.getmembers(proxy.source, callable):
        if name.startswith("_"):
            continue
        ours = getattr(proxy, name)
        assert inspect.signature(ours).parameters == inspect.signature(method).parameters, name
        assert ours.__doc__ == method.__doc__, name


class Recorder:
    """Stands for any object: notes the threads that its methods are called in."""

    def __init__(self) -> None:
        self.threads: dict[str, int] = {}

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*_: object, **__: object) -> Iterator[object]:
            self.threads[name] = threading.get_ident()
            return iter(())

        return call


@pytest.mark.parametrize("proxy", PROXIES.values())
def test_no_method_runs_in_the_thread_of_the_loop(proxy: type[Any]) -> None:
    async def call_all() -> None:
        recorder = Recorder()
        this = proxy(recorder if proxy.source is Memory else lambda: recorder)
        awaited = [
            name
            for name, method in inspect.getmembers(proxy, inspect.iscoroutinefunction)
            if not name.startswith("_") and name != "open"
        ]
        for name in awaited:
            parameters = list(inspect.signature(getattr(this, name)).parameters.values())
            needed = [
                None
                for parameter in parameters
                if parameter.default is parameter.empty and parameter.kind not in VARIABLE
            ]
            by_name = {
                parameter.name: None
                for parameter in parameters
                if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
            }
            await getattr(this, name)(*needed[: len(needed) - len(by_name)], **by_name)
        assert set(awaited) <= recorder.threads.keys()
        assert threading.get_ident() not in recorder.threads.values()

    asyncio.run(call_all())


def test_what_is_added_side_by_side_is_found_side_by_side(
    run: Callable[[Test], None],
) -> None:
    async def test(memory: AsyncMemory) -> None:
        names = [f"animal{number}" for number in range(20)]
        receipts = await asyncio.gather(
            *(memory.add(f"The {name} sleeps.", source=name) for name in names)
        )
        assert all(receipt.added == 1 for receipt in receipts)
        await memory.settle()
        found = await asyncio.gather(*(memory.search(name, mode="lexical", k=1) for name in names))
        assert [hits[0].source for hits in found] == names

    run(test)


def test_iterators_become_asynchronous(run: Callable[[Test], None]) -> None:
    async def test(memory: AsyncMemory) -> None:
        count = PAGE + 3
        await memory.add([{"role": "user", "content": f"Number {at}."} for at in range(count)])
        texts = [entry.text async for entry in memory.entries(source="chat")]
        assert texts == [f"Number {at}." for at in range(count)]
        assert len([line async for line in memory.export()]) == count + 1

    run(test)


def test_a_cancelled_add_is_added_as_a_whole(run: Callable[[Test], None]) -> None:
    async def test(memory: AsyncMemory) -> None:
        loop = asyncio.get_running_loop()
        under_way = asyncio.Event()

        def progress(done: int, total: int) -> None:
            loop.call_soon_threadsafe(under_way.set)

        task = asyncio.create_task(memory.add("The otter sleeps.", progress=progress))
        await under_way.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [hit.text for hit in await memory.search("otter")] == ["The otter sleeps."]

    run(test)


class Gate:
    """Holds up the threads that come to it until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def wait(self, *_: object) -> None:
        self.reached.set()
        assert self.opened.wait(60)


def test_two_waits_at_once_get_a_piece_each(tmp_path: Path) -> None:
    async def stream() -> tuple[list[str], list[str]]:
        llm = FakeLLM(lambda _: "one two three")
        async with await AsyncMemory.open(tmp_path / "m.db", llm=llm) as memory:
            whole = [piece async for piece in await memory.chat_stream("hi")]
            pieces: list[str] = []

            async def read(stream: AsyncChatStream) -> None:
                pieces.extend([piece async for piece in stream])

            again = await memory.chat_stream("hi")
            await asyncio.gather(read(again), read(again))
            return whole, pieces

    whole, pieces = asyncio.run(stream())
    assert sorted(pieces) == sorted(whole)


def test_a_stream_that_is_closed_gives_no_more_pieces(tmp_path: Path) -> None:
    async def stream() -> None:
        llm = FakeLLM(lambda _: "one two three")
        async with await AsyncMemory.open(tmp_path / "m.db", llm=llm) as memory:
            stream = await memory.chat_stream("hi")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0)
            await stream.close()
            with pytest.raises(InputError):
                await anext(stream)

    asyncio.run(stream())


def test_a_chat_that_is_cancelled_before_it_streams_keeps_its_message_once(tmp_path: Path) -> None:
    gate, llm = Gate(), FakeLLM(["In the river."])

    async def test() -> None:
        loop, reached = asyncio.get_running_loop(), asyncio.Event()
        loop.set_default_executor(ThreadPoolExecutor(1))  # a call begins when the last one is over

        def held_up(texts: Sequence[str], vectors: Floats) -> Floats:
            if texts == ["Where is the otter?"]:
                loop.call_soon_threadsafe(reached.set)
                gate.wait()
            return vectors

        embedder = HashingEmbedder(tamper=held_up)
        async with await AsyncMemory.open(tmp_path / "a.db", embedder=embedder, llm=llm) as memory:
            await memory.add("The otter sleeps in the river.")
            asked = asyncio.create_task(memory.chat_stream("Where is the otter?"))
            await reached.wait()
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            gate.opened.set()
            async with await memory.chat_stream("Where is the otter?") as stream:
                assert [piece async for piece in stream]
            roles = [entry.role async for entry in memory.entries(source="chat")]
            assert roles == ["user", "assistant"]

    asyncio.run(test())


def test_a_memory_whose_opening_is_cancelled_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, closed = Gate(), threading.Event()

    class Opened:
        def close(self) -> None:
            closed.set()

    def slow(*_: object, **__: object) -> Opened:
        gate.wait()
        return Opened()

    async def test() -> None:
        monkeypatch.setattr(Memory, "open", slow)
        opening = asyncio.create_task(AsyncMemory.open("life.db"))
        assert await asyncio.to_thread(gate.reached.wait, 60)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        gate.opened.set()
        assert await asyncio.to_thread(closed.wait, 60)

    asyncio.run(test())


def test_a_piece_of_a_reply_that_was_waited_for_in_vain_comes_with_the_next_wait(
    tmp_path: Path,
) -> None:
    gate = Gate()
    llm = FakeLLM(["In the river."], before_reply=gate.wait)

    async def test() -> None:
        async with (
            await AsyncMemory.open(
                tmp_path / "a.db", embedder=HashingEmbedder(), llm=llm
            ) as memory,
            await memory.chat_stream("Where is the otter?") as stream,
        ):
            first = asyncio.create_task(anext(stream))
            assert await asyncio.to_thread(gate.reached.wait, 60)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            gate.opened.set()
            assert "".join([piece async for piece in stream]) == "In the river."

    asyncio.run(test())


def test_errors_are_those_of_memory(run: Callable[[Test], None]) -> None:
    async def test(memory: AsyncMemory) -> None:
        with pytest.raises(InputError):
            await memory.search(" ")
        await memory.close()
        await memory.close()
        with pytest.raises(JournalError):
            await memory.stats()

    run(test)
