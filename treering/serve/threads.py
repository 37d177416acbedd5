"""The threads that calls run in, and how much of them one space may take."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Literal, TypeVar

from treering.serve.traces import Traces

T = TypeVar("T")

Kind = Literal["read", "write", "wait"]

THREADS: dict[Kind, int] = {
    "read": 4,  # compute: a few more than cores wait for the disk, many more only switch
    "write": 16,  # wait for each other's commits, and what waited is embedded together
    "wait": 16,  # wait for a language model, and so never hold up a search
}

SHARE = 2
"""One space has at most a half of each kind: the other half is there for all others."""


class Threads:
    """Pools of threads, one a kind of call, so that no kind waits for another."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._pools = {
            kind: ThreadPoolExecutor(count, f"treering-{kind}") for kind, count in THREADS.items()
        }

    async def run(self, kind: Kind, work: partial[T]) -> T:
        """Run a call in a thread of that kind; what it raises is raised."""
        name = getattr(work.func, "__qualname__", type(work.func).__name__)
        with self._traces.span(name):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pools[kind], copy_context().run, work)

    def close(self) -> None:
        """Wait for calls that have begun; those that have not are cancelled."""
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)


class Share:
    """What one space may take of the threads."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._turns = {kind: asyncio.Semaphore(count // SHARE) for kind, count in THREADS.items()}

    async def run(self, kind: Kind, work: partial[T]) -> T:
        """Run a call when it is its turn: first come, first served."""
        async with self._turns[kind]:
            return await self._threads.run(kind, work)
