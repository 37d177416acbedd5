"""Idempotency: a request with a key takes effect once, however often a client sends it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Header, Request, Response
from pydantic_core import to_json

from treering.errors import RequestUnderWay
from treering.journal import claims
from treering.journal.claims import RequestClaim, StoredReply
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.serve import problems
from treering.serve.settings import ServerSettings
from treering.serve.spaces import Asking, Tenant
from treering.serve.threads import Kind

MAX_KEY_CHARS = 255
REPLAYED = {"Idempotent-Replayed": "true"}

FIRST_PAUSE_S: Final = 0.02
MAX_PAUSE_S: Final = 1.0
"""Pauses between looks at whether another worker has done the same request."""

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY_CHARS,
        description="A text that no other request has. A repeated request with it, also after a "
        "restart, gets the first reply and changes nothing.",
    ),
]


class ClaimedRequest:
    """A request under way; its reply is stored in the transaction of the work, or after it."""

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

    def stored_reply(self, result: object) -> StoredReply:
        """Return the reply; store it if the work has not, or if the result has changed since."""
        reply = StoredReply(self._status, to_json(result))
        if self._reply != reply:
            with self._space.write() as writer:
                if self._reply is None:
                    self.keep_answer(writer, result)
                else:
                    claims.change_reply(writer, self._claim, reply)
        return reply


Work = Callable[[ClaimedRequest | None], object]
"""Does a request and returns its result; without a key it gets None and stores no reply."""


@dataclass(frozen=True, slots=True)
class GivenReply:
    """A reply, and whether it repeats an earlier one."""

    reply: StoredReply
    is_replay: bool = False

    def response(self) -> Response:
        """Return the HTTP response."""
        if self.reply.body is None:
            return problems.problem(
                HTTPStatus.GONE,
                "this request was done; its reply was dropped, because an entry that it may quote "
                "was forgotten",
                headers=REPLAYED,
            )
        headers = REPLAYED if self.is_replay else None
        return Response(self.reply.body, self.reply.status, headers, "application/json")


@dataclass(frozen=True, slots=True)
class Once:
    """One request with its idempotency key, if it has one."""

    tenant: Tenant
    key: str | None
    request: bytes
    patience_s: float

    async def execute(self, kind: Kind, work: Work, *, status: int, quotes: bool) -> GivenReply:
        """Do the work, or return its earlier reply; ``quotes``: it may quote entries.

        The request is claimed first: the same request, also at another server, waits for the reply.
        A failure is not stored, so a repeated request is then done again.

        Raise RequestUnderWay if that takes long, InputError if the key came with another request.
        """
        end, pause = time.monotonic() + self.patience_s, FIRST_PAUSE_S
        while True:
            try:
                given = await self.tenant.run(kind, self._attempt, work, status, quotes)
            except RequestUnderWay:
                if time.monotonic() + pause > end:
                    raise
            else:
                return given
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_S)

    async def reply(self, kind: Kind, work: Work, *, status: int, quotes: bool) -> Response:
        """Do the work as ``execute`` does, and return the response."""
        return (await self.execute(kind, work, status=status, quotes=quotes)).response()

    def _attempt(self, work: Work, status: int, quotes: bool) -> GivenReply:
        """Run in one thread from claim to reply: a client that hangs up does not end the work."""
        if self.key is None:
            return GivenReply(StoredReply(status, to_json(work(None))))
        space = Space(self.tenant.database, self.tenant.space)
        with claims.claim_request(space, self.key, self.request) as claim:
            if isinstance(claim, StoredReply):
                return GivenReply(claim, is_replay=True)
            request = ClaimedRequest(space, claim, status, quotes=quotes)
            return GivenReply(request.stored_reply(work(request)))


async def idempotent_request(request: Request, tenant: Asking, key: Key = None) -> Once:
    """Return the request with its idempotency key."""
    settings: ServerSettings = request.app.state.settings
    content = f"{request.method} {request.url.path}\n".encode() + await request.body()
    return Once(tenant, key, content, settings.patience_s)


OnceOnly = Annotated[Once, Depends(idempotent_request)]
"""The parameter of a route whose repeated request must change nothing."""
