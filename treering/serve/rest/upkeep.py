"""Maintenance: spaces, pending work, export and import, and the health of the server."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import IO, Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, StreamingResponse

from treering.errors import InputError, JournalError, TextEncodingError
from treering.journal.space import names
from treering.records import Forgotten, Receipt, Stats
from treering.serve import roles
from treering.serve.access import Access, caller_of
from treering.serve.metrics import Metrics
from treering.serve.rest.routes import new_router
from treering.serve.settling import Settling
from treering.serve.spaces import Spaces
from treering.serve.tenant import Asking
from treering.views.pending import in_words

router = new_router("upkeep", "/v1")
health = APIRouter(tags=["health"], include_in_schema=False)

IMPORT_PATH = "/v1/import"
"""The path whose body may be larger than those of all others."""

NDJSON = "application/x-ndjson"
PAGE = 256  # lines of an export at a time: a change of threads for each would cost more
MAX_LINE_BYTES = 16 * 2**20  # four times the longest entry in UTF-8, for escapes
MAX_WAIT_S = 20.0  # below the time-outs of common clients and proxies


class PendingWork(BaseModel):
    """Queued work by kind, the same in words (``told``), and whether the server works on it."""

    pending: dict[str, int]
    told: dict[str, str]
    settling: bool


@router.get("/spaces")
async def spaces(request: Request) -> list[str]:
    """The names of the spaces that the caller may use: those that its key opens, or all."""
    tenant_spaces: Spaces = request.app.state.spaces
    caller = caller_of(request)
    every = {*await tenant_spaces.read(names), *caller.own_spaces}
    return sorted(name for name in every if caller.may(roles.READ, name))


@router.put("/spaces/{name:path}")
async def begin_space(name: str, request: Request) -> list[str]:
    """Make an empty space; the first entry of a space makes it, too."""
    tenant_spaces: Spaces = request.app.state.spaces
    caller_of(request).ensure(roles.FULL, name)
    await tenant_spaces.begin(name)
    return await spaces(request)


@router.delete("/spaces/{name:path}")
async def forget_space(name: str, request: Request) -> Forgotten:
    """Erase a space: all it holds, its name, and the keys that open only it."""
    caller = caller_of(request)
    caller.ensure(roles.FULL, name)
    tenant_spaces: Spaces = request.app.state.spaces
    tenant = await tenant_spaces.tenant(caller.space or name)
    forgotten = await tenant.change(tenant.memory.forget_space, name)
    access: Access = request.app.state.access
    tenant_spaces.drop(name)
    access.read_keys()  # now: a key of the space would make it again
    return forgotten


@router.get("/pending", name="pending")
async def pending_work(request: Request, tenant: Asking) -> PendingWork:
    """The queued work of the space."""
    settling: Settling = request.app.state.settling
    figures = await tenant.call(tenant.memory.stats)
    return PendingWork(
        pending=dict(figures.pending),
        told={kind: in_words(kind, count) for kind, count in figures.pending.items()},
        settling=settling.at_work(tenant.space),
    )


@router.post(
    "/settle",
    responses={HTTPStatus.ACCEPTED: {"description": "The server goes on.", "model": PendingWork}},
)
async def settle(
    request: Request,
    tenant: Asking,
    response: Response,
    upgrade: Annotated[
        bool, Query(description="Let the model rewrite summaries made without one.")
    ] = False,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT_S)] = MAX_WAIT_S,
) -> Stats | PendingWork:
    """Do all pending work. After ``wait`` seconds the server answers and goes on: see `pending`."""
    settling: Settling = request.app.state.settling
    done = await settling.settle(tenant, wait, upgrade=upgrade)
    if done is not None:
        return done
    response.status_code = HTTPStatus.ACCEPTED
    return await pending_work(request, tenant)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        HTTPStatus.OK: {"description": "A header, then one entry a line.", "content": {NDJSON: {}}}
    },
)
async def export(tenant: Asking) -> StreamingResponse:
    """The space as lines of JSON, which import takes in."""
    lines = tenant.memory.export()

    def page() -> bytes:
        return "".join(f"{line}\n" for line in islice(lines, PAGE)).encode()

    # Before the reply begins, so that an unknown space is answered with its status.
    first = await tenant.call(page)

    async def pages() -> AsyncIterator[bytes]:
        yield first
        while lines_of_page := await tenant.call(page):
            yield lines_of_page

    return StreamingResponse(pages(), media_type=NDJSON)


@router.post(
    "/import",
    openapi_extra={
        "requestBody": {"content": {NDJSON: {"schema": {"type": "string"}}}, "required": True}
    },
)
async def import_(
    request: Request,
    tenant: Asking,
    settings: Annotated[
        bool, Query(description="Also the settings of the export, though the space has entries.")
    ] = False,
    again_forgotten: Annotated[
        bool, Query(description="Also entries that were forgotten in this space.")
    ] = False,
) -> Receipt:
    """Take in an export, all or nothing; entries that are here already are left alone."""
    # Into a file first: a slow client must not hold a write transaction open.
    with tempfile.TemporaryFile() as received:
        async for chunk in request.stream():
            await asyncio.to_thread(received.write, chunk)
        received.seek(0)
        return await tenant.call_slow(
            partial(
                tenant.memory.import_,
                _lines(received),
                settings=settings,
                again_forgotten=again_forgotten,
            )
        )


def _lines(received: IO[bytes]) -> Iterator[str]:
    """Yield the lines of an export. Raise InputError, TextEncodingError."""
    number = 0
    while line := received.readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES:
            raise InputError(f"line {number} is longer than {MAX_LINE_BYTES} bytes; is it a line?")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise TextEncodingError(f"line {number} is not UTF-8: {error}") from error


@health.get("/healthz")
async def healthz() -> Response:
    """The process runs."""
    return PlainTextResponse("ok\n")


@health.get("/metrics")
async def metrics(request: Request) -> Response:
    """Figures for Prometheus; they name no space and quote nothing.

    The figures of the whole memory are for callers without keys and for operators.
    """
    figures: Metrics = request.app.state.metrics
    tenant_spaces: Spaces = request.app.state.spaces
    memory = None
    if caller_of(request).is_operator:
        with suppress(JournalError):  # the figures of the process are answered all the same
            memory = await tenant_spaces.figures()
    text, media_type = figures.text(memory)
    return Response(text, media_type=media_type)


@health.get("/readyz")
async def readyz(request: Request) -> Response:
    """A worker thread is free soon and the file can be read. Raise JournalError."""
    spaces: Spaces = request.app.state.spaces
    await spaces.read(lambda reader: reader.row("SELECT 1 FROM space LIMIT 1"))
    return PlainTextResponse("ready\n")
