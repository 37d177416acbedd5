"""Whether the server lives and can answer."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from treering.serve.metrics import Metrics
from treering.serve.spaces import Spaces

router = APIRouter(tags=["health"], include_in_schema=False)


@router.get("/healthz")
async def healthz() -> Response:
    """The process runs."""
    return PlainTextResponse("ok\n")


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Figures for Prometheus; they name no space and quote nothing."""
    figures: Metrics = request.app.state.metrics
    text, media_type = figures.text()
    return Response(text, media_type=media_type)


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """A worker thread is free before long and the file can be read. Raises JournalError."""
    spaces: Spaces = request.app.state.spaces
    await spaces.probe()
    return PlainTextResponse("ready\n")
