"""The tools over streamable HTTP, at one address of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Any

import anyio
from anyio.abc import TaskStatus
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from treering.corrections import AGENT
from treering.errors import JournalError
from treering.memory import Memory
from treering.serve.access import caller_of, served_repository
from treering.serve.problems import public_message
from treering.serve.roles import Roles
from treering.serve.settings import ServerSettings
from treering.serve.spaces import open_beside, tenant_of
from treering.serve.threads import Kind

PATH = "/mcp"


class Endpoint:
    """The protocol as an ASGI application, without state between requests.

    The SDK takes half a second and 27 MB to import, so the first request loads it.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._reach = partial(served_repository, settings)
        self._handle: ASGIApp | None = None
        self._loading = asyncio.Lock()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Answer requests until the end of the block."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def _run(self, *, task_status: TaskStatus[ASGIApp]) -> None:
        """Report the SDK's application once it answers, and keep it open."""
        sdk = await asyncio.to_thread(import_module, "mcp.server.streamable_http_manager")
        own = await asyncio.to_thread(import_module, "treering.serve.mcp.server")
        async with anyio.create_task_group() as tasks:
            server = own.build(_within, self._reach, tasks.start_soon, _asked, _author)
            # Its own check of hosts stays off: AccessMiddleware has checked them.
            manager = sdk.StreamableHTTPSessionManager(server, json_response=True, stateless=True)
            async with manager.run():
                task_status.started(manager.handle_request)
                await anyio.sleep_forever()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, which comes within the application's lifespan."""
        async with self._loading:
            if self._handle is None:
                self._handle = await self._tasks.start(self._run)
        # RFC 9110: white space around a value is not part of it; the parser leaves it there.
        headers = [(name, value.strip()) for name, value in scope["headers"]]
        await self._handle({**scope, "headers": headers}, receive, send)

    def route(self) -> Route:
        """Return the route of the endpoint."""
        return Route(PATH, endpoint=self, include_in_schema=False)


def _author(request: Request) -> str:
    return caller_of(request).key or AGENT


async def _asked(request: Request, named: list[str] | None) -> list[str] | None:
    """Open the spaces that a call names. Raise AccessDenied."""
    await open_beside(request, named or ())
    return named


async def _within(
    request: Request, use: Callable[[Memory], Any], threads: Kind, needed: Roles
) -> Any:
    """Run a call on the memory of the caller's space. Raise AccessDenied without the roles."""
    caller = caller_of(request)
    caller.ensure(needed, caller.space)
    tenant = await tenant_of(request)
    try:
        return await tenant.run(threads, use, tenant.memory)
    except JournalError as error:  # its message names the file, which stays on the server
        raise JournalError(public_message(error), hint=error.hint) from error
