"""Batches: items that arrive while others run are processed together when their turn comes.

An idle server processes an item without a wait; under load the batches grow. No timer and no batch
size needs tuning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from treering.serve.threads import start_task

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Batch(Generic[Item, Result]):
    """Items to process together, and the task that processes them."""

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
        """Return the result of an item; ``work`` takes any items of one ``key``, and keeps order.

        An error of ``work`` is raised for every item of the batch. A batch runs to its end even if
        its callers have left.
        """
        batch = self._forming.get(key)
        if batch is None or len(batch.items) >= self._most:
            batch = self._forming[key] = _Batch()
            batch.done = start_task(self._run(key, batch, work))
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
