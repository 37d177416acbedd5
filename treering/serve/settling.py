"""Pending work of spaces, done in the background and stopped with the server."""

from __future__ import annotations

import asyncio

from treering.errors import ServerUnavailable
from treering.records import Stats
from treering.serve.tenant import Tenant


class Settling:
    """At most one ``settle`` a space; whoever asks for another joins it."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Stats]] = {}
        self._stopping = False

    def at_work(self, space: str) -> bool:
        """Whether a space is being settled."""
        return space in self._tasks

    async def settle(self, tenant: Tenant, wait_s: float, *, upgrade: bool) -> Stats | None:
        """Settle a space; None if it is not done after ``wait_s`` seconds and goes on.

        Raises what stood in the way, if that shows in time; the work stays queued.
        """
        task = self._tasks.get(tenant.space)
        if task is None:
            task = self._tasks[tenant.space] = asyncio.create_task(self._run(tenant, upgrade))
        done, _ = await asyncio.wait([task], timeout=wait_s)
        return task.result() if done else None

    def stop(self) -> None:
        """End what is under way at its next step; what was done stays done."""
        self._stopping = True

    async def _run(self, tenant: Tenant, upgrade: bool) -> Stats:
        try:
            return await tenant.call_slow(
                tenant.memory.settle, self._go_on_unless_stopping, upgrade=upgrade
            )
        finally:
            del self._tasks[tenant.space]

    def _go_on_unless_stopping(self, done: int, total: int) -> None:
        """Called between steps of the work."""
        if self._stopping:
            raise ServerUnavailable(f"the server is stopping; {total - done} steps stay queued")
