"""The tools over streamable HTTP, for whoever has a key, at one address of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from treering.memory import Memory
from treering.serve.mcp.server import build
from treering.serve.paths import served_git
from treering.serve.settings import ServerSettings
from treering.serve.tenant import tenant_of
from treering.serve.threads import Kind

PATH = "/mcp"


class Endpoint:
    """The protocol as an ASGI application. No state is kept between requests: nothing to steal."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests until the end of the block."""
        server = build(_within, partial(served_git, self._settings))
        # Its own check of hosts stays off: AccessMiddleware has checked them.
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            self._manager = manager
            yield
        self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        assert self._manager is not None  # requests come within the application's lifespan
        await self._manager.handle_request(scope, receive, send)

    def route(self) -> Route:
        """Where it is found."""
        return Route(PATH, endpoint=self, include_in_schema=False)


async def _within(request: Request, use: Callable[[Memory], Any], threads: Kind) -> Any:
    """Run a call on the memory of the caller's space."""
    tenant = await tenant_of(request)
    run = {"read": tenant.call, "write": tenant.change, "wait": tenant.call_slow}[threads]
    return await run(use, tenant.memory)
