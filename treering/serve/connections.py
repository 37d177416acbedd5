"""Connections: bounds on what comes before a request is known, and so before any key is.

uvicorn bounds neither how long a request's headers are nor how long they take: a thousand clients
that send half a line each would hold all the connections there can be. So would a thousand that do
not read a reply, or that go on with the body of a request that was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

SPARE_FILES = 128
"""Files besides connections: the database's, of every thread, and those of models."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, how long and large a request's headers, and how long a
    client may read nothing of a reply."""

    connections: int
    header_bytes: int
    header_s: float
    unread_s: float


@dataclass(slots=True)
class _Connections:
    """The connections, the oldest first, and those of them whose next request has not come whole,
    the longest waiting first."""

    there: dict[BoundedProtocol, None] = field(default_factory=dict)
    waiting: dict[BoundedProtocol, None] = field(default_factory=dict)


def bounded_protocol(limits: ConnectionLimits) -> Callable[..., asyncio.Protocol]:
    """What uvicorn makes a connection's protocol with."""
    state = _Connections()

    def make(**options: Any) -> asyncio.Protocol:
        return BoundedProtocol(AutoHTTPProtocol(**options), limits, state)

    return make


class BoundedProtocol(asyncio.Protocol):
    """uvicorn's protocol, closed if the headers of a request are too long or take too long, or if
    nothing of a reply is read.

    Where all connections are taken, the one that has waited longest for its headers makes room:
    an honest client's come in one piece. Where none waits, the oldest that has not read all of its
    reply does.
    """

    def __init__(self, inner: Any, limits: ConnectionLimits, state: _Connections) -> None:
        self._inner = inner
        self._limits = limits
        self._state = state
        self._transport: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._unread = 0
        self._header_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection in, or close it where no other can make room."""
        self._transport = transport
        self._state.there[self] = None
        self._inner.connection_made(transport)
        self._wait()
        self._reading = self._inner.loop.call_later(self._limits.unread_s, self._look)
        if len(self._state.there) > self._limits.connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place free."""
        del self._state.there[self]
        self._stop_waiting()
        if self._reading is not None:
            self._reading.cancel()
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand bytes on, and count those of headers."""
        if self._transport.is_closing():
            return
        before = self._inner.cycle
        # Of a request that is answered already nothing is read, however long its body goes on.
        reads_body = before is not None and before.more_body
        is_answered = before is not None and before.response_complete
        self._inner.data_received(data)
        if self._inner.cycle is not before:
            self._stop_waiting()  # the headers of a request are complete
            self._header_bytes = 0
        elif is_answered and reads_body:
            self._wait()  # uvicorn waits no longer: what comes ends the time that it gives
        elif not reads_body:
            self._header_bytes += len(data)
            self._wait()
            if self._header_bytes > self._limits.header_bytes:
                self._refuse(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    f"the headers have more than {self._limits.header_bytes} bytes "
                    "(--header-bytes)",
                )

    def eof_received(self) -> bool | None:
        """Hand on."""
        ended: bool | None = self._inner.eof_received()
        return ended

    def pause_writing(self) -> None:
        """Hand on."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Hand on."""
        self._inner.resume_writing()

    def _wait(self) -> None:
        """Begin to wait for headers, unless that has begun."""
        if self._timer is None:
            self._state.waiting[self] = None
            self._timer = self._inner.loop.call_later(self._limits.header_s, self._too_slow)

    def _make_room(self) -> None:
        """Close the connection that has the least right to its place: this one, if need be."""
        longest = next(iter(self._state.waiting))
        slowest = next((other for other in self._state.there if other._has_unread()), None)
        if longest is self and slowest is not None:
            slowest._transport.abort()
            return
        longest._refuse(
            HTTPStatus.SERVICE_UNAVAILABLE,
            f"{self._limits.connections} connections are open, as many as this server takes "
            "(--max-connections)",
        )

    def _has_unread(self) -> bool:
        return bool(self._transport.get_write_buffer_size())

    def _look(self) -> None:
        """Close the connection if its client has read nothing since the last look."""
        unread = self._transport.get_write_buffer_size()
        if 0 < unread == self._unread:
            self._transport.abort()
            return
        self._unread = unread
        self._reading = self._inner.loop.call_later(self._limits.unread_s, self._look)

    def _stop_waiting(self) -> None:
        self._state.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._refuse(
            HTTPStatus.REQUEST_TIMEOUT,
            f"the headers of a request did not come within {self._limits.header_s:g} s "
            "(--header-seconds)",
        )

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        """Say why, as far as the client listens, and close."""
        self._stop_waiting()
        if self._transport.is_closing():
            return
        body = f"{reason}\n".encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\n"
            "content-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        cycle = self._inner.cycle
        if cycle is None or cycle.response_complete:  # else it would stand inside of a reply
            self._transport.write(head.encode() + body)
        self._transport.close()
        # A client that reads nothing would keep the connection until its buffer is empty.
        self._inner.loop.call_later(1.0, self._transport.abort)


def room_for(connections: int) -> int:
    """How many of these connections the system has files for; its limit is raised as far as it
    lets us."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(min(connections, soft - SPARE_FILES), 1)
    return connections
