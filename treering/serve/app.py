"""The application: what is served where, and what every request passes on its way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from treering import __version__
from treering.errors import MissingExtra

try:
    from fastapi import FastAPI
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "fastapi", "serve") from missing

from treering.serve import problems
from treering.serve.access import Access, AccessMiddleware
from treering.serve.mcp.http import Endpoint
from treering.serve.proxy.route import Proxy
from treering.serve.rest import entries, health, recall
from treering.serve.settings import Settings
from treering.serve.spaces import Spaces


def create_app(settings: Settings) -> FastAPI:
    """The server as an ASGI application; its end closes the memory's file.

    Raises InputError when it could be reached from other machines without a key, JournalError.
    """
    spaces = Spaces(settings)
    try:
        access = Access(settings, spaces)
    except BaseException:
        spaces.close()
        raise

    mcp, proxy = Endpoint(), Proxy(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(spaces.close)
            await stack.enter_async_context(mcp.running())
            await stack.enter_async_context(proxy.running())
            yield

    app = _Described(
        title="treering",
        summary="A long-term memory for language models and agents.",
        version=__version__,
        lifespan=lifespan,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        generate_unique_id_function=lambda route: f"{route.tags[0]}_{route.name}".rstrip("_"),
        max_body_size=settings.max_body_bytes,
    )
    app.state.spaces = spaces
    app.state.settings = settings
    problems.register(app)
    for module in (entries, recall):
        app.include_router(module.router, prefix="/v1", responses=problems.RESPONSES)
    app.include_router(health.router)
    app.router.routes += [mcp.route(), *proxy.routes()]
    app.add_middleware(AccessMiddleware, access=access)
    return app


class _Described(FastAPI):
    """An application whose description knows problems and keys."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        found = super().openapi()
        parts = found.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = problems.SCHEMA
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"key": []}, {}]  # without keys on the loopback interface
        return found
