"""Settle spaces in the background: for a client that asks, and while no request runs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from treering.errors import ServerUnavailable, TreeringError
from treering.journal import ledger, storage
from treering.journal.contract import Database, Reader
from treering.journal.space import UNNAMED, Space, names
from treering.records import Progress, Stats
from treering.serve.spaces import Spaces, Tenant
from treering.serve.threads import start_task

log = logging.getLogger("treering.serve")

IDLE_S: Final = 30.0
"""A server is idle that long after its last request: people and agents pause for less."""

LOOK_S: Final = 5.0
"""Between two looks for pending work: one statement that reads two numbers of each space."""

AGAIN_S: Final = 3_600.0
"""Every space is settled again after this time: its work may have failed, or only time made it."""

METRICS: Final = "/metrics"  # monitors ask for it all the time


class Settling:
    """Runs at most one ``settle`` a space; another call joins it, or is next in turn."""

    def __init__(self) -> None:
        # The work under way by space, and its ``upgrade``; None is work that no client waits for.
        self._at_work: dict[str, tuple[asyncio.Task[Stats], bool | None]] = {}
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
            if not self.at_work(tenant.space):
                self._begin(tenant, upgrade)
            task, upgrades = self._at_work[tenant.space]
            done, _ = await asyncio.wait([task], timeout=max(until - time.monotonic(), 0))
            if not done:
                return None
            if upgrades is not None and upgrades >= upgrade:
                return task.result()

    async def settle_between(self, tenant: Tenant, step: Progress) -> None:
        """Settle a space unless that is under way; ``step`` may raise between two steps to end it.

        A client that asks meanwhile is next in turn. Raise the error of the work, or of ``step``.
        """
        if not self.at_work(tenant.space):
            await self._begin(tenant, None, step)

    def _begin(
        self, tenant: Tenant, upgrade: bool | None, step: Progress | None = None
    ) -> asyncio.Task[Stats]:
        task = start_task(self._run(tenant, bool(upgrade), step))
        self._at_work[tenant.space] = task, upgrade
        return task

    def stop(self) -> None:
        """Stop all work at its next step; the steps done stay done."""
        self._stopping = True

    async def _run(self, tenant: Tenant, upgrade: bool, step: Progress | None) -> Stats:
        def go_on(done: int, total: int) -> None:
            if step is not None:  # first: it counts the tokens of the step that is done
                step(done, total)
            self._go_on_unless_stopping(done, total)

        try:
            return await tenant.run("wait", tenant.memory.settle, go_on, upgrade=upgrade)
        finally:
            del self._at_work[tenant.space]

    def _go_on_unless_stopping(self, done: int, total: int) -> None:
        """Raise ServerUnavailable between two steps if the server stops."""
        if self._stopping:
            raise ServerUnavailable(f"the server is stopping; {total - done} steps stay queued")


class IdleSettler:
    """Does the pending work of all spaces while no request runs, within ``tokens`` of each day.

    Days are those of UTC. The tokens of a space are those that its ledger gained meanwhile. Steps
    under way when the tokens are spent are finished: ``CALLS_IN_FLIGHT`` of a view at most.
    """

    def __init__(
        self,
        spaces: Spaces,
        settling: Settling,
        tokens: int,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._spaces = spaces
        self._settling = settling
        self.tokens = tokens
        self.now = now
        self._under_way = 0
        self._last_request = now()
        self._settled: dict[str, tuple[object, datetime]] = {}

    @contextmanager
    def during_request(self, method: str, path: str) -> Iterator[None]:
        """Note that a request is under way, unless a monitor sends it.

        One that may read its reply for hours, as MCP clients do, counts when it comes alone.
        """
        waits = method != "GET"
        if path != METRICS:
            self._last_request = self.now()
            self._under_way += waits
        try:
            yield
        finally:
            if path != METRICS and waits:
                self._last_request = self.now()
                self._under_way -= 1

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way, or came within ``IDLE_S``."""
        return not self._under_way and self._seconds_since(self._last_request) >= IDLE_S

    async def run(self) -> None:
        """Settle one space after another, until cancelled."""
        while True:
            if await self.settle_next() is None:
                await asyncio.sleep(LOOK_S)

    async def settle_next(self) -> str | None:
        """Settle the next space that has changed; return its name. None if there is nothing to do.

        An error of the work is logged; the space is tried again when it changes, or later.
        """
        if not self.is_idle:
            return None
        try:
            due = await self._spaces.read(self._next_due)
            if due is not None:
                await self._settle(*due)
        except ServerUnavailable:
            return None
        except TreeringError as error:  # its words may quote a text
            log.warning("pending work of a space is delayed: %s", type(error).__name__)
            return None
        return due and due[0]

    async def _settle(self, name: str, state: object) -> None:
        self._settled[name] = state, self.now()
        tenant = await self._spaces.tenant(name)
        meter = await tenant.run("read", _Meter, self, tenant.database, name)
        try:
            await self._settling.settle_between(tenant, meter.step)
        except ServerUnavailable:
            del self._settled[name]
            raise
        finally:
            await tenant.run("read", meter.count)
        states = await self._spaces.read(_states)
        if self.is_idle:  # else a request may have changed it since
            self._settled[name] = states.get(name), self.now()

    def refuse_step(self, spent: int) -> None:
        """Raise ServerUnavailable unless the server is idle, and has tokens left today."""
        if not self.is_idle or spent >= self.tokens:
            raise ServerUnavailable("pending work goes on while no request runs, within its tokens")

    @property
    def day(self) -> int:
        """The day of UTC, by number."""
        return self.now().toordinal()

    def _next_due(self, reader: Reader) -> tuple[str, object] | None:
        self.refuse_step(storage.settle_tokens(reader, self.day))
        for name, state in _states(reader).items():
            before = self._settled.get(name)
            if before is None or before[0] != state or self._seconds_since(before[1]) > AGAIN_S:
                return name, state
        return None

    def _seconds_since(self, moment: datetime) -> float:
        return (self.now() - moment).total_seconds()


class _Meter:
    """Counts the tokens that a space costs, and ends its work where the settler says so."""

    def __init__(self, settler: IdleSettler, database: Database, space: str) -> None:
        self._settler = settler
        self._space = Space(database, space)
        self._lock = threading.Lock()
        self._counted = self._spent()

    def step(self, _done: int, _total: int) -> None:
        """Count the tokens of a step. Raise ServerUnavailable."""
        self._settler.refuse_step(self.count())

    def count(self) -> int:
        """Add the tokens since the last call to those of the day; return these."""
        database = self._space.database
        with self._lock:  # memos of several conversations are written side by side
            spent, day = self._spent(), self._settler.day
            if spent > self._counted:
                with database.write(UNNAMED) as writer:
                    storage.add_settle_tokens(writer, day, spent - self._counted)
            self._counted = spent
        with database.read() as reader:
            return storage.settle_tokens(reader, day)

    def _spent(self) -> int:
        with self._space.read() as reader:
            return sum(
                cost.prompt_tokens + cost.completion_tokens
                for cost in ledger.spent(reader, reader.id)
            )


def _states(reader: Reader) -> dict[str, object]:
    """Return two numbers for each space, which change when it may have new work."""
    rows = reader.rows(
        "SELECT name, revision, (SELECT count(*) FROM work WHERE space = s.id) FROM space s"
    )
    states: dict[str, object] = {str(name): numbers for name, *numbers in rows}
    return {name: states[name] for name in names(reader) if name in states}
