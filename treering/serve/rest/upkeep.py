"""Looking after a space: spaces, figures, pending work, export and import."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import IO, Annotated

from fastapi import Query, Request, Response
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from treering.errors import AccessDenied, InputError, TextEncodingError
from treering.records import Forgotten, Receipt, Stats
from treering.serve.access import Access, caller_of
from treering.serve.rest.router import router_of
from treering.serve.settling import Settling
from treering.serve.spaces import Spaces
from treering.serve.tenant import Asking
from treering.views.pending import in_words

router = router_of("upkeep", "/v1")

IMPORT_PATH = "/v1/import"
"""Where a body may be larger than anywhere else."""

NDJSON = "application/x-ndjson"
PAGE = 256  # lines of an export made at a time: a change of threads for each would cost more
MAX_LINE_BYTES = 16 * 2**20  # four times the longest entry in UTF-8, for escapes
MAX_WAIT_S = 20.0  # below the time-outs of common clients and proxies


class PendingWork(BaseModel):
    """Work that is queued, by kind; the same ``told`` in words; and whether the server is at it."""

    pending: dict[str, int]
    told: dict[str, str]
    settling: bool


@router.get("/spaces")
async def spaces(request: Request, tenant: Asking) -> list[str]:
    """The names of the spaces the caller may ask for: its key's, or all where none is needed."""
    if caller_of(request).key is not None:
        return [tenant.space]
    return await tenant.call(tenant.memory.spaces)


@router.put("/spaces/{name:path}")
async def begin_space(name: str, request: Request, tenant: Asking) -> list[str]:
    """Make a space that is empty at first; without this, the first entry makes it."""
    tenant_spaces: Spaces = request.app.state.spaces
    _ensure_own(request, name)
    await tenant.change(tenant_spaces.begin, name)
    return await spaces(request, tenant)


@router.delete("/spaces/{name:path}")
async def forget_space(name: str, request: Request, tenant: Asking) -> Forgotten:
    """Erase a space: all it holds, its name, and the keys that open only it."""
    _ensure_own(request, name)
    forgotten = await tenant.change(tenant.memory.forget_space, name)
    tenant_spaces: Spaces = request.app.state.spaces
    access: Access = request.app.state.access
    tenant_spaces.drop(name)
    access.read_keys()  # at once: a key of the space would make it again
    return forgotten


def _ensure_own(request: Request, name: str) -> None:
    """Raises AccessDenied if the caller's key does not open the space of that name."""
    caller = caller_of(request)
    if caller.key is not None and caller.space != name:
        raise AccessDenied(f"this key does not open the space {name!r}")


@router.get("/pending")
async def pending(request: Request, tenant: Asking) -> PendingWork:
    """What is still to be done for the space."""
    settling: Settling = request.app.state.settling
    figures = await tenant.call(tenant.memory.stats)
    return PendingWork(
        pending=dict(figures.pending),
        told={kind: in_words(kind, count) for kind, count in figures.pending.items()},
        settling=settling.at_work(tenant.space),
    )


@router.post(
    "/settle",
    responses={HTTPStatus.ACCEPTED: {"description": "It goes on.", "model": PendingWork}},
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
    """Do all pending work. What takes longer than ``wait`` seconds goes on: see ``pending``."""
    settling: Settling = request.app.state.settling
    done = await settling.settle(tenant, wait, upgrade=upgrade)
    if done is not None:
        return done
    response.status_code = HTTPStatus.ACCEPTED
    return await pending(request, tenant)


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

    # Before the reply begins: a space that is not there is told by its status.
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
        import_ = partial(tenant.memory.import_, settings=settings, again_forgotten=again_forgotten)
        return await tenant.call_slow(_taken_in, import_, received)


def _taken_in(import_: Callable[[Iterator[str]], Receipt], received: IO[bytes]) -> Receipt:
    received.seek(0)
    return import_(_lines(received))


def _lines(received: IO[bytes]) -> Iterator[str]:
    """The lines of an export. Raises InputError, TextEncodingError."""
    number = 0
    while line := received.readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES:
            raise InputError(f"line {number} is longer than {MAX_LINE_BYTES} bytes; is it a line?")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise TextEncodingError(f"line {number} is not UTF-8: {error}") from error
