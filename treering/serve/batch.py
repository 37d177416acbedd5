"""Batches: work that arrives while other work runs is done together when its turn comes.

If nothing runs, nothing waits; the more there is to do, the larger the batches become. No timer and
no batch size has to be tuned to a load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Batch(Generic[Item, Result]):
    """Items that will be done together, and the task that does them."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.done: asyncio.Task[Sequence[Result]]


class Batcher(Generic[Item, Result]):
    """Batches of up to ``most`` items of one key, ``at_once`` of them running side by side."""

    def __init__(self, most: int, at_once: int, observe: Callable[[int], None]) -> None:
        self._most = most
        self._turn = asyncio.Semaphore(at_once)  # first come, first served
        self._observe = observe
        self._forming: dict[Hashable, _Batch[Item, Result]] = {}

    async def submit(
        self,
        key: Hashable,
        item: Item,
        work: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
    ) -> Result:
        """The item's result. Items of one key are interchangeable in ``work``, which keeps order.

        Raises what ``work`` raises, for every item of the batch. A batch runs to its end even if
        those who wait for it have gone.
        """
        batch = self._forming.get(key)
        if batch is None or len(batch.items) >= self._most:
            batch = self._forming[key] = _Batch()
            batch.done = asyncio.create_task(self._run(key, batch, work))
        place = len(batch.items)
        batch.items.append(item)
        return (await asyncio.shield(batch.done))[place]

    async def _run(
        self,
        key: Hashable,
        batch: _Batch[Item, Result],
        work: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
    ) -> Sequence[Result]:
        async with self._turn:
            if self._forming.get(key) is batch:
                del self._forming[key]
            self._observe(len(batch.items))
            return await work(batch.items)
