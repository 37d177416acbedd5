"""Requests with an idempotency key are done once, however often a client sends them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from pydantic_core import to_json

from treering.journal import replies
from treering.journal.replies import Reply
from treering.serve import problems
from treering.serve.tenant import Asking, Tenant

MAX_KEY_CHARS = 255
REPLAYED = {"Idempotent-Replayed": "true"}

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY_CHARS,
        description="Any text that no other request has: a request that is sent again with it, "
        "also after a restart, gets the first one's reply and changes nothing.",
    ),
]


class Gates:
    """Lets those of one key through one after the other."""

    def __init__(self) -> None:
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._inside: Counter[tuple[str, str]] = Counter()

    @asynccontextmanager
    async def passing(self, key: tuple[str, str]) -> AsyncIterator[None]:
        """Wait until nobody else of this key is inside."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._inside[key] += 1
        try:
            async with lock:
                yield
        finally:
            self._inside[key] -= 1
            if not self._inside[key]:
                del self._inside[key], self._locks[key]


@dataclass(frozen=True, slots=True)
class Once:
    """How the reply to one request is given: as it was given before, if it was."""

    tenant: Tenant
    gates: Gates
    key: str | None
    request: bytes

    async def reply(
        self, work: Callable[[], Awaitable[object]], *, status: int, quotes: bool
    ) -> Response:
        """Do the work and reply with its result; ``quotes``: it may hold text of entries.

        A failure is not kept: sent again, the request is done again. So it is after a crash between
        the work and keeping its reply; adding then finds what is there and leaves no second copy.

        Raises InputError when the key came with another request.
        """
        if self.key is None:
            return _response(Reply(status, to_json(await work())))
        async with self.gates.passing((self.tenant.space, self.key)):
            who = (self.tenant.database, self.tenant.space, self.key, self.request)
            before = await self.tenant.call(replies.find, *who)
            if before is not None:
                return _response(before, replayed=True)
            reply = Reply(status, to_json(await work()))
            await self.tenant.change(replies.keep, *who, reply, quotes=quotes)
            return _response(reply)


async def once_of(request: Request, tenant: Asking, key: Key = None) -> Once:
    """How to reply to a request, by its idempotency key."""
    gates: Gates = request.app.state.gates
    what = f"{request.method} {request.url.path}\n".encode() + await request.body()
    return Once(tenant, gates, key, what)


OnceOnly = Annotated[Once, Depends(once_of)]
"""The parameter of a route that must not be done twice."""


def _response(reply: Reply, *, replayed: bool = False) -> Response:
    if reply.body is None:
        return problems.problem(
            HTTPStatus.GONE,
            "this was done; its reply is gone, since something it may have quoted was forgotten",
            headers=REPLAYED,
        )
    headers = REPLAYED if replayed else None
    return Response(reply.body, reply.status, headers, "application/json")
