"""Connections: bounds on a request before its headers, and so its key, are known.

uvicorn bounds neither the length nor the time of a request's headers: a thousand clients that send
half a line each would hold all connections. So would a thousand that do not read a reply, or that
go on with the body of a refused request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from treering.serve.settings import ServerSettings

SPARE_FILES = 128
"""Files besides connections: the database's, of every thread, and those of models."""


@dataclass(slots=True)
class _Connections:
    """All connections, the oldest first, and those without a whole request, the longest waiting
    first."""

    open: dict[BoundedProtocol, None] = field(default_factory=dict)
    waiting: dict[BoundedProtocol, None] = field(default_factory=dict)


def bounded_protocol(settings: ServerSettings) -> Callable[..., Any]:
    """Return the function with which uvicorn makes the protocol of a connection."""
    most = available_connections(settings.max_connections)
    return partial(BoundedProtocol, settings, most, _Connections())


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, closed if headers are too long or too slow, or if a reply is not read.

    A connection beyond ``most`` displaces the one that has waited longest for its headers: those of
    an honest client come in one piece. If none waits, it displaces the oldest with an unread reply.
    """

    def __init__(
        self, settings: ServerSettings, most: int, state: _Connections, **options: Any
    ) -> None:
        super().__init__(**options)
        self._settings = settings
        self._most = most
        self._state = state
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._unread = 0
        self._header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; beyond the bound, close one."""
        self._state.open[self] = None
        super().connection_made(transport)
        self._wait()
        self._reading = self.loop.call_later(self._settings.unread_s, self._check_reader)
        if len(self._state.open) > self._most:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place of the connection."""
        del self._state.open[self]
        self._stop_waiting()
        if self._reading is not None:
            self._reading.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on, and count those of headers."""
        if self.transport.is_closing():
            return
        before = self.cycle
        # uvicorn ignores the rest of the body of an answered request.
        reads_body = before is not None and before.more_body
        is_answered = before is not None and before.response_complete
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()  # the headers of a request are complete
            self._header_bytes = 0
        elif is_answered and reads_body:
            self._wait()  # these bytes have stopped uvicorn's own timer
        elif not reads_body:
            self._header_bytes += len(data)
            self._wait()
            if self._header_bytes > self._settings.header_bytes:
                self._refuse(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    f"the headers have more than {self._settings.header_bytes} bytes",
                )

    def _wait(self) -> None:
        """Start to wait for headers, unless the wait has begun."""
        if self._timer is None:
            self._state.waiting[self] = None
            self._timer = self.loop.call_later(self._settings.header_s, self._refuse_slow)

    def _make_room(self) -> None:
        """Close the connection with the least right to its place, which may be this one."""
        longest = next(iter(self._state.waiting))
        unread = (each for each in self._state.open if each.transport.get_write_buffer_size())
        slowest = next(unread, None)
        if longest is self and slowest is not None:
            slowest.transport.abort()
            return
        longest._refuse(
            HTTPStatus.SERVICE_UNAVAILABLE,
            f"{self._most} connections are open, as many as this server takes (--max-connections)",
        )

    def _check_reader(self) -> None:
        """Close the connection if its client has read nothing since the last check."""
        unread = self.transport.get_write_buffer_size()
        if 0 < unread == self._unread:
            self.transport.abort()
            return
        self._unread = unread
        self._reading = self.loop.call_later(self._settings.unread_s, self._check_reader)

    def _stop_waiting(self) -> None:
        self._state.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse_slow(self) -> None:
        self._refuse(
            HTTPStatus.REQUEST_TIMEOUT,
            f"the headers of a request did not come within {self._settings.header_s:g} s",
        )

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        """Answer with the reason, if the client reads it, and close."""
        self._stop_waiting()
        if self.transport.is_closing():
            return
        body = f"{reason}\n".encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\n"
            "content-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        cycle = self.cycle
        if cycle is None or cycle.response_complete:  # else it would be part of a reply
            self.transport.write(head.encode() + body)
        self.transport.close()
        # A client that reads nothing would keep the connection until its buffer is empty.
        self.loop.call_later(1.0, self.transport.abort)


def available_connections(connections: int) -> int:
    """Return how many of these connections the system has files for; raise its limit if it can."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows lacks this limit
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(min(connections, soft - SPARE_FILES), 1)
    return connections
