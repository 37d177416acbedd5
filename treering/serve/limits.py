"""Limits: no caller, and no crowd of callers, can keep the server from answering the others."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treering.errors import ServerUnavailable
from treering.serve import problems
from treering.serve.roles import Caller

BODY_SILENCE_S = 30.0
"""The server waits no longer than this for the next bytes of a body."""

TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE

ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths without limits: monitoring must get an answer from a busy server."""


class CrowdMiddleware:
    """Refuses a request if too many are under way, and a body that is too long or stops coming.

    ``max_bytes`` bounds a body, except on the paths in ``larger``, which have their own limits.
    """

    def __init__(self, app: ASGIApp, most: int, max_bytes: int, larger: Mapping[str, int]) -> None:
        self._app = app
        self._most = most
        self._max_bytes = max_bytes
        self._larger = larger
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on while there is room."""
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            await self._app(scope, receive, send)
            return
        if self._under_way >= self._most:
            detail = f"{self._most} requests are under way, as many as this server takes"
            await _busy_response(detail)(scope, receive, send)
            return
        limit = self._larger.get(scope["path"], self._max_bytes)
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            await problems.problem(TOO_LARGE, _too_large(limit))(scope, receive, send)
            return
        self._under_way += 1
        try:
            await self._app(scope, _bound_body(receive, limit), send)
        finally:
            self._under_way -= 1


@dataclass(slots=True)
class Bucket:
    """A token bucket: ``burst`` requests at once, refilled at ``rate`` a second."""

    rate: float
    burst: float
    left: float = field(init=False)
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.left = self.burst

    def take(self, now: float) -> float:
        """Take one request and return 0, or return the seconds to wait for one."""
        self.left = min(self.burst, self.left + (now - self.since) * self.rate)
        self.since = now
        if self.left < 1:
            return (1 - self.left) / self.rate
        self.left -= 1
        return 0.0


class RateMiddleware:
    """Bounds the requests of each key; without keys there is one user, and no bound.

    At most ``most`` requests of a key are under way, so that a key whose model hangs, or that reads
    many streams, leaves places to the others.
    """

    def __init__(self, app: ASGIApp, rate: float, burst: int, most: int) -> None:
        self._app = app
        self._rate = rate
        self._burst = burst
        self._most = most
        self._buckets: dict[str, Bucket] = {}
        self._under_way: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if its key has requests left."""
        caller: Caller | None = scope.get("state", {}).get("caller")
        if caller is None or caller.key is None:
            await self._app(scope, receive, send)
            return
        if caller.key not in self._buckets:
            self._buckets[caller.key] = Bucket(self._rate, self._burst)
        if self._under_way[caller.key] >= self._most:
            detail = f"{self._most} requests of this key are under way, as many as one may have"
            await _busy_response(detail)(scope, receive, send)
            return
        wait = self._buckets[caller.key].take(time.monotonic())
        if wait:
            detail = f"this key may make {self._rate:g} requests a second"
            detail += f"; try again in {wait:.2f} s"
            refused = problems.problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                detail,
                error=ServerUnavailable(detail),
                headers={"Retry-After": str(math.ceil(wait))},
            )
            await refused(scope, receive, send)
            return
        self._under_way[caller.key] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way[caller.key] -= 1


def _busy_response(detail: str) -> Response:
    error = ServerUnavailable(f"{detail}; try again in {problems.RETRY_AFTER_S} s")
    return problems.error_response(error)


def _bound_body(receive: Receive, limit: int) -> Receive:
    """Return a ``receive`` that bounds the body; it waits for a disconnection without end."""
    size, is_whole = 0, False

    async def receive_part() -> Message:
        nonlocal size, is_whole
        if is_whole:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), BODY_SILENCE_S)
        except TimeoutError as error:
            detail = f"no bytes of the body came for {BODY_SILENCE_S:g} s"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail) from error
        size += len(message.get("body", b""))
        if size > limit:
            raise HTTPException(TOO_LARGE, _too_large(limit))
        is_whole = not message.get("more_body", False)
        return message

    return receive_part


def _too_large(limit: int) -> str:
    return (
        f"the body has more than {limit} bytes (--max-bytes); send it in parts, or an export to "
        "/v1/import"
    )
