"""Requests with an idempotency key are done once, however often a client sends them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Request, Response
from pydantic_core import to_json

from treering.errors import RequestUnderWay
from treering.journal import claims, replies
from treering.journal.claims import RequestClaim
from treering.journal.replies import StoredReply
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.serve import problems
from treering.serve.settings import ServerSettings
from treering.serve.tenant import Asking, Tenant

MAX_KEY_CHARS = 255
REPLAYED = {"Idempotent-Replayed": "true"}

FIRST_PAUSE_S: Final = 0.02
MAX_PAUSE_S: Final = 1.0
"""Between looks at whether somebody else's work on the same request is done."""

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


class ClaimedRequest:
    """A request that is being done: its reply is kept with what it stores, or after it."""

    def __init__(self, space: Space, claim: RequestClaim, status: int, *, quotes: bool) -> None:
        self._space = space
        self._claim = claim
        self._status = status
        self._quotes = quotes
        self._reply: StoredReply | None = None

    def earlier_message(self, reader: SpaceReader) -> Sequence[int]:
        """See ``RoundRecord``."""
        return claims.message(reader, self._claim)

    def keep_message(self, writer: SpaceWriter, message: Collection[str]) -> None:
        """See ``RoundRecord``."""
        claims.note_message(writer, self._claim, message)

    def keep_answer(self, writer: SpaceWriter, answer: object) -> None:
        """Keep the reply in the transaction that stores what the request is for."""
        self._reply = StoredReply(self._status, to_json(answer))
        claims.complete(writer, self._claim, self._reply, quotes=self._quotes)

    def kept(self, result: object) -> StoredReply:
        """The reply, which is kept now if the work has not done so, or has come to more since."""
        reply = StoredReply(self._status, to_json(result))
        if self._reply != reply:
            with self._space.write() as writer:
                if self._reply is None:
                    self.keep_answer(writer, result)
                else:
                    replies.change(writer, writer.id, self._claim.key, reply)
        return reply


Work = Callable[[ClaimedRequest | None], object]
"""Does a request and returns what is replied; without a key there is nothing to keep."""

Run = Callable[..., Awaitable[Any]]
"""Runs a call in a thread, as ``Tenant.change`` and ``Tenant.call_slow`` do."""


@dataclass(frozen=True, slots=True)
class GivenReply:
    """A reply, and whether it was given before."""

    reply: StoredReply
    replayed: bool = False

    def response(self) -> Response:
        """The reply as the client gets it."""
        if self.reply.body is None:
            return problems.problem(
                HTTPStatus.GONE,
                "this was done; its reply is gone, since something it may have quoted was "
                "forgotten",
                headers=REPLAYED,
            )
        headers = REPLAYED if self.replayed else None
        return Response(self.reply.body, self.reply.status, headers, "application/json")


@dataclass(frozen=True, slots=True)
class Once:
    """How the reply to one request is given: as it was given before, if it was."""

    tenant: Tenant
    key: str | None
    request: bytes
    patience_s: float

    async def given(self, run: Run, work: Work, *, status: int, quotes: bool) -> GivenReply:
        """Do the work, or find the reply that it had; ``quotes``: it may hold text of entries.

        It is claimed first, so that nobody else does it meanwhile, in this server or another one:
        they wait for the reply. A failure is not kept: sent again, the request is done again.

        Raises RequestUnderWay when somebody else is at it for long, InputError when the key came
        with another request.
        """
        end, pause = time.monotonic() + self.patience_s, FIRST_PAUSE_S
        while True:
            try:
                given: GivenReply = await run(self._attempt, work, status, quotes)
            except RequestUnderWay:
                if time.monotonic() + pause > end:
                    raise
            else:
                return given
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_S)

    async def reply(self, run: Run, work: Work, *, status: int, quotes: bool) -> Response:
        """As ``given``, as a response."""
        return (await self.given(run, work, status=status, quotes=quotes)).response()

    def _attempt(self, work: Work, status: int, quotes: bool) -> GivenReply:
        """In one thread from claim to reply: a client that hangs up does not end the work."""
        if self.key is None:
            return GivenReply(StoredReply(status, to_json(work(None))))
        space = Space(self.tenant.database, self.tenant.space)
        with claims.claimed(space, self.key, self.request) as claim:
            if isinstance(claim, StoredReply):
                return GivenReply(claim, replayed=True)
            request = ClaimedRequest(space, claim, status, quotes=quotes)
            return GivenReply(request.kept(work(request)))


async def once_of(request: Request, tenant: Asking, key: Key = None) -> Once:
    """How to reply to a request, by its idempotency key."""
    settings: ServerSettings = request.app.state.settings
    content = f"{request.method} {request.url.path}\n".encode() + await request.body()
    return Once(tenant, key, content, settings.patience_s)


OnceOnly = Annotated[Once, Depends(once_of)]
"""The parameter of a route that must not be done twice."""
