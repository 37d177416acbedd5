"""Limits: no caller, and no crowd of callers, can take the server away from the others."""

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
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treering.errors import ServerUnavailable
from treering.serve import problems
from treering.serve.access import Caller

BODY_SILENCE_S = 30.0
"""A client that sends nothing of its body for so long is given up on."""

TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE

ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths without limits: monitoring must get an answer when nobody else does."""


class CrowdMiddleware:
    """Refuses a request if too many are under way, and bodies that are too long or stop coming.

    ``max_bytes`` is the limit of a body, except on the paths in ``larger``, which have their own.
    """

    def __init__(self, app: ASGIApp, most: int, max_bytes: int, larger: Mapping[str, int]) -> None:
        self._app = app
        self._most = most
        self._max_bytes = max_bytes
        self._larger = larger
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in while there is room."""
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            await self._app(scope, receive, send)
            return
        if self._under_way >= self._most:
            error = ServerUnavailable(
                f"{self._most} requests are under way, as many as this server takes; "
                f"try again in {problems.RETRY_AFTER_S} s"
            )
            await problems.of_error(error)(scope, receive, send)
            return
        limit = self._larger.get(scope["path"], self._max_bytes)
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            await problems.problem(TOO_LARGE, _too_large(limit))(scope, receive, send)
            return
        self._under_way += 1
        try:
            await self._app(scope, _bounded(receive, limit), send)
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
        """Take out one request and return 0, or return the seconds until there is one to take."""
        self.left = min(self.burst, self.left + (now - self.since) * self.rate)
        self.since = now
        if self.left < 1:
            return (1 - self.left) / self.rate
        self.left -= 1
        return 0.0


class RateMiddleware:
    """Bounds the requests of each key; where no key is needed there is one user, and no bound.

    ``most`` are under way at once: a key whose model hangs, or that listens to many streams, does
    not take the places of the others.
    """

    def __init__(self, app: ASGIApp, rate: float, burst: int, most: int) -> None:
        self._app = app
        self._rate = rate
        self._burst = burst
        self._most = most
        self._buckets: dict[str, Bucket] = {}
        self._under_way: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass if its key has requests left."""
        caller: Caller | None = scope.get("state", {}).get("caller")
        if caller is None or caller.key is None:
            await self._app(scope, receive, send)
            return
        if caller.key not in self._buckets:
            self._buckets[caller.key] = Bucket(self._rate, self._burst)
        if self._under_way[caller.key] >= self._most:
            error = ServerUnavailable(
                f"{self._most} requests of this key are under way, as many as one may have; "
                f"try again in {problems.RETRY_AFTER_S} s"
            )
            await problems.of_error(error)(scope, receive, send)
            return
        wait = self._buckets[caller.key].take(time.monotonic())
        if not wait:
            await self._let_in(caller.key, scope, receive, send)
            return
        detail = f"this key may ask {self._rate:g} times a second; try again in {wait:.2f} s"
        refused = problems.problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            detail,
            error=ServerUnavailable(detail),
            headers={"Retry-After": str(math.ceil(wait))},
        )
        await refused(scope, receive, send)

    async def _let_in(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._under_way[key] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way[key] -= 1


def _bounded(receive: Receive, limit: int) -> Receive:
    """``receive`` that gives up on a body, but waits for a disconnection as long as it takes."""
    size, whole = 0, False

    async def received() -> Message:
        nonlocal size, whole
        if whole:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), BODY_SILENCE_S)
        except TimeoutError as error:
            detail = f"nothing of the body came for {BODY_SILENCE_S:g} s"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail) from error
        size += len(message.get("body", b""))
        if size > limit:
            raise HTTPException(TOO_LARGE, _too_large(limit))
        whole = not message.get("more_body", False)
        return message

    return received


def _too_large(limit: int) -> str:
    return f"the body has more than {limit} bytes; send it in parts, or an export to /v1/import"
