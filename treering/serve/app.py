"""The application: its routes, and the layers that every request passes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import Any, Final

from treering import __version__
from treering.errors import LLMNotConfigured, MissingExtra
from treering.hints import Hint
from treering.journal.space import Space, begin
from treering.llm.settings import HOW_TO_CONFIGURE, is_configured

try:  # imported here, so that a missing extra is named
    import prometheus_client  # noqa: F401
    from fastapi import FastAPI
except ModuleNotFoundError as missing:
    raise MissingExtra.of((missing.name or "fastapi").partition(".")[0], "serve") from missing
if find_spec("mcp") is None:  # the first request to it imports it
    raise MissingExtra.of("mcp", "serve")

from treering.serve import problems
from treering.serve.access import Access, AccessMiddleware
from treering.serve.limits import CrowdMiddleware, RateMiddleware
from treering.serve.mcp.http import Endpoint
from treering.serve.metrics import Metrics, MetricsMiddleware
from treering.serve.page import route as page
from treering.serve.proxy.route import Proxy
from treering.serve.rest import chat, custom
from treering.serve.rest.routes import operation_routes
from treering.serve.settings import ServerSettings
from treering.serve.settling import IdleSettler, Settling
from treering.serve.spaces import Spaces
from treering.serve.threads import SHARE

_NONE: Final = re.compile(r"\bNone\b(?! of)")  # in the documentation of methods and records
_ANY_JSON: Final = re.compile(r'{"\$ref": "#/components/schemas/JSON-\w+"}')
"""References to the recursive type of JSON, which generators of clients cannot read."""


class DescribedAPI(FastAPI):
    """An application whose OpenAPI document speaks of JSON, and names problems and keys."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            text = _NONE.sub("null", _ANY_JSON.sub("{}", json.dumps(super().openapi())))
            document = json.loads(text)
            parts = document["components"]
            schemas = {**parts["schemas"], "Problem": problems.SCHEMA}
            parts["schemas"] = {
                name: schemas[name] for name in sorted(schemas) if not name.startswith("JSON-")
            }
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"key": []}, {}]  # without keys on the loopback interface
            self.openapi_schema = document
        return self.openapi_schema


def create_app(settings: ServerSettings) -> FastAPI:
    """Return the server as an ASGI application, which closes the memory's file when it ends.

    Raise InputError if other machines could reach it without a key, LLMNotConfigured for pending
    work without a model, JournalError.
    """
    if settings.settle_tokens and not is_configured(settings.llm):
        raise LLMNotConfigured(HOW_TO_CONFIGURE, hint=Hint.CHOOSE_LLM, param="llm")
    metrics, settling = Metrics(), Settling()
    spaces = Spaces(settings, metrics)
    try:
        access = Access(settings, spaces.database)
        if access.is_open:  # the space of callers that name none
            begin(Space(spaces.database, settings.space), create=True)
    except BaseException:
        spaces.close()
        raise

    endpoint, proxy = Endpoint(settings), Proxy(settings)
    idle = IdleSettler(spaces, settling, settings.settle_tokens)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(lambda: spaces.close(access.take_uses()))
            await stack.enter_async_context(endpoint.lifespan())
            await stack.enter_async_context(proxy.lifespan())
            stack.callback(asyncio.create_task(spaces.keep_up(access.take_uses)).cancel)
            if settings.settle_tokens:
                stack.callback(asyncio.create_task(idle.run()).cancel)
            stack.callback(settling.stop)  # first: spaces wait for the calls under way
            yield

    app = DescribedAPI(
        title="treering",
        summary="A long-term memory for language models and agents.",
        version=__version__,
        lifespan=lifespan,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.settings = settings
    app.state.spaces = spaces
    app.state.access = access
    app.state.metrics = metrics
    app.state.settling = settling
    app.state.idle = idle
    problems.register(app)
    for router in (chat.router, page.router, *custom.ROUTERS):
        app.router.routes += router.routes
    app.router.routes += [endpoint.route(), *proxy.routes(), *page.files(), *operation_routes()]
    if access.issuer is not None:
        app.router.routes += access.issuer.routes()
    _add_middleware(app, settings, access, metrics)
    return app


def _add_middleware(
    app: FastAPI, settings: ServerSettings, access: Access, metrics: Metrics
) -> None:
    """Add the layers, the innermost first: the last one added sees a request first."""
    app.add_middleware(
        RateMiddleware,
        rate=settings.requests_per_s,
        burst=settings.burst,
        most=-(-settings.max_requests // SHARE),
    )
    app.add_middleware(AccessMiddleware, access=access, idle=app.state.idle)
    app.add_middleware(problems.StopMiddleware)
    app.add_middleware(
        CrowdMiddleware,
        most=settings.max_requests,
        max_bytes=settings.max_bytes,
        larger={custom.IMPORT_PATH: settings.max_import_bytes},
    )
    app.add_middleware(MetricsMiddleware, metrics=metrics, logs=settings.log_requests)
