from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from treering.serve.threads import Batcher

Test = Callable[[], Coroutine[Any, Any, None]]


class Work:
    """Doubles numbers, in batches that are held until they are let go."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = asyncio.Event()

    async def __call__(self, items: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(items))
        await self.go.wait()
        if 13 in items:
            raise ValueError("13")
        return [2 * item for item in items]


def batcher(most: int = 8, at_once: int = 1) -> Batcher[int, int]:
    return Batcher(most, at_once, lambda _: None)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 10))


def test_what_arrives_while_a_batch_runs_is_the_next_one() -> None:
    async def test() -> None:
        work, some = Work(), batcher()
        first = asyncio.create_task(some.submit("k", 1, work))
        await until(lambda: len(work.batches) == 1)
        others = [asyncio.create_task(some.submit("k", number, work)) for number in (2, 3, 4)]
        await asyncio.sleep(0)
        work.go.set()
        assert await asyncio.gather(first, *others) == [2, 4, 6, 8]
        assert work.batches == [[1], [2, 3, 4]]

    run(test())


def test_a_batch_has_a_largest_size_and_one_key() -> None:
    async def test() -> None:
        work, some = Work(), batcher(most=2)
        work.go.set()
        items = [("a", 1), ("a", 2), ("b", 3), ("a", 4)]
        found = await asyncio.gather(*(some.submit(key, item, work) for key, item in items))
        assert found == [2, 4, 6, 8]
        assert sorted(work.batches) == [[1, 2], [3], [4]]

    run(test())


def test_a_failure_reaches_all_of_its_batch_and_no_other() -> None:
    async def test() -> None:
        work, some = Work(), batcher()
        work.go.set()
        submitted = [("a", 1), ("a", 13), ("b", 2)]
        found = await asyncio.gather(
            *(some.submit(key, item, work) for key, item in submitted), return_exceptions=True
        )
        assert [isinstance(one, ValueError) for one in found] == [True, True, False]

    run(test())


def test_one_who_leaves_takes_nothing_from_the_others() -> None:
    async def test() -> None:
        work, some = Work(), batcher()
        leaving = asyncio.create_task(some.submit("k", 1, work))
        staying = asyncio.create_task(some.submit("k", 2, work))
        await until(lambda: len(work.batches) == 1)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        work.go.set()
        assert await staying == 4

    run(test())


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until something has happened."""
    while not condition():
        await asyncio.sleep(0)
