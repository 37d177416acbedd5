"""The threads of calls, and batches of equal calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")

Kind = Literal["read", "write", "wait"]

THREADS: dict[Kind, int] = {
    "read": 4,  # compute: some more than cores, since some wait for the disk
    "write": 16,  # wait for each other's commits; texts that waited are embedded together
    "wait": 16,  # wait for a language model or read everything, so searches have other threads
}

SHARE = 2
"""One space has at most a half of each kind of threads; the others have the other half."""


PATIENCE_S = 10.0
"""How long calls may take once the server stops, after the requests have had their time."""


def start_task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a task whose error is not logged if all clients that wait for it have left."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


class Threads:
    """A pool of threads for each kind of call, so that no kind waits for another."""

    def __init__(self) -> None:
        self._pools = {
            kind: ThreadPoolExecutor(count, f"treering-{kind}") for kind, count in THREADS.items()
        }
        self._under_way: dict[Kind, set[Future[Any]]] = {kind: set() for kind in THREADS}

    async def run(self, kind: Kind, work: partial[T]) -> T:
        """Run a call in a thread of that kind; raise its errors."""
        call = self._pools[kind].submit(work)
        self._under_way[kind].add(call)
        call.add_done_callback(self._under_way[kind].discard)
        return await asyncio.wrap_future(call)

    def close(self, patience_s: float = PATIENCE_S) -> int:
        """Wait for the calls that have begun, cancel the others; return how many are not done.

        After ``patience_s`` some may still wait for a model or read everything. None of them has
        been acknowledged.
        """
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        under_way = [call for calls in self._under_way.values() for call in list(calls)]
        return len(wait(under_way, patience_s).not_done)


class Batcher(Generic[Item, Result]):
    """Processes items together that arrive while others run: up to ``most`` of one key.

    ``at_once`` batches run side by side. An idle server processes an item without a wait; under
    load the batches grow, so no timer and no size needs tuning.
    """

    def __init__(self, most: int, at_once: int, observe: Callable[[int], None]) -> None:
        self._most = most
        self._turn = asyncio.Semaphore(at_once)  # first come, first served
        self._observe = observe
        self._forming: dict[Hashable, tuple[list[Item], asyncio.Task[Sequence[Result]]]] = {}

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
        if key not in self._forming or len(self._forming[key][0]) >= self._most:
            batch: list[Item] = []
            self._forming[key] = batch, start_task(self._run(key, batch, work))
        items, done = self._forming[key]
        place = len(items)
        items.append(item)
        return (await asyncio.shield(done))[place]

    async def _run(
        self,
        key: Hashable,
        items: list[Item],
        work: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
    ) -> Sequence[Result]:
        async with self._turn:
            if key in self._forming and self._forming[key][0] is items:
                del self._forming[key]
            self._observe(len(items))
            return await work(items)
