"""Settle spaces in the background, until the server stops."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from treering.errors import ServerUnavailable
from treering.records import Stats
from treering.serve.tenant import Tenant
from treering.serve.threads import start_task


@dataclass(frozen=True, slots=True)
class _Work:
    """A ``settle`` under way."""

    task: asyncio.Task[Stats]
    upgrade: bool


class Settling:
    """Runs at most one ``settle`` a space; another call joins it, or is next in turn."""

    def __init__(self) -> None:
        self._at_work: dict[str, _Work] = {}
        self._stopping = False

    def at_work(self, space: str) -> bool:
        """Return whether a space is being settled."""
        return space in self._at_work

    async def settle(self, tenant: Tenant, wait_s: float, *, upgrade: bool) -> Stats | None:
        """Settle a space; return None if that goes on after ``wait_s`` seconds.

        Raise the error of the work, if it comes in time; the work stays queued.
        """
        until = time.monotonic() + wait_s
        while True:
            work = self._at_work.get(tenant.space) or self._begin(tenant, upgrade)
            done, _ = await asyncio.wait([work.task], timeout=max(until - time.monotonic(), 0))
            if not done:
                return None
            if work.upgrade or not upgrade:
                return work.task.result()

    def _begin(self, tenant: Tenant, upgrade: bool) -> _Work:
        work = _Work(start_task(self._run(tenant, upgrade)), upgrade)
        self._at_work[tenant.space] = work
        return work

    def stop(self) -> None:
        """Stop all work at its next step; the steps done stay done."""
        self._stopping = True

    async def _run(self, tenant: Tenant, upgrade: bool) -> Stats:
        try:
            return await tenant.call_slow(
                tenant.memory.settle, self._go_on_unless_stopping, upgrade=upgrade
            )
        finally:
            del self._at_work[tenant.space]

    def _go_on_unless_stopping(self, done: int, total: int) -> None:
        """Raise ServerUnavailable between two steps if the server stops."""
        if self._stopping:
            raise ServerUnavailable(f"the server is stopping; {total - done} steps stay queued")
