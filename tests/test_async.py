from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.embedders import HashingEmbedder
from tools.generate_async import TARGET, formatted, generate
from treering import AsyncMemory, Memory
from treering.aio import PAGE
from treering.errors import InputError, JournalError

Test = Callable[[AsyncMemory], Coroutine[Any, Any, None]]


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


def test_the_generated_module_is_up_to_date() -> None:
    assert TARGET.read_text("utf-8") == formatted(generate()), "run: python -m tools.generate_async"


def test_it_has_the_methods_of_memory_with_their_signatures_and_docstrings() -> None:
    for name, method in inspect.getmembers(Memory, callable):
        if name.startswith("_"):
            continue
        twin = getattr(AsyncMemory, name)
        assert inspect.signature(twin).parameters == inspect.signature(method).parameters, name
        assert twin.__doc__ == method.__doc__, name


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


def test_searches_go_on_while_somebody_adds(run: Callable[[Test], None]) -> None:
    async def test(memory: AsyncMemory) -> None:
        await memory.add("The otter sleeps.")

        async def adding() -> None:
            for number in range(20):
                await memory.add(f"Sentence {number}.")

        async def searching() -> int:
            return len([await memory.search("otter", k=1) for _ in range(20)])

        _, searched = await asyncio.gather(adding(), searching())
        assert searched == 20
        assert (await memory.stats()).entries == 21

    run(test)


def test_iterators_become_asynchronous(run: Callable[[Test], None]) -> None:
    async def test(memory: AsyncMemory) -> None:
        count = PAGE + 3
        await memory.add([{"role": "user", "content": f"Number {at}."} for at in range(count)])
        texts = [entry.text async for entry in memory.entries(source="chat")]
        assert texts == [f"Number {at}." for at in range(count)]
        assert len([line async for line in memory.export()]) == count + 1

    run(test)


def test_the_event_loop_runs_while_a_call_is_under_way(run: Callable[[Test], None]) -> None:
    async def test(memory: AsyncMemory) -> None:
        loop, reached = asyncio.get_running_loop(), asyncio.Event()

        def progress(done: int, total: int) -> None:
            # Blocks the worker until the loop has run something: a deadlock if it were the loop.
            ticking = asyncio.run_coroutine_threadsafe(tick(), loop)
            ticking.result(timeout=30)

        async def tick() -> None:
            reached.set()

        await memory.add("The otter sleeps.", progress=progress)
        assert reached.is_set()

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


def test_errors_are_those_of_memory(run: Callable[[Test], None]) -> None:
    async def test(memory: AsyncMemory) -> None:
        with pytest.raises(InputError):
            await memory.search(" ")
        await memory.close()
        await memory.close()
        with pytest.raises(JournalError):
            await memory.stats()

    run(test)
