"""Routes that are more than one call of a method: entries, rounds of code, upkeep, health."""

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

from treering import corrections
from treering.errors import InputError, JournalError, TextEncodingError
from treering.ingest.drafts import Envelope
from treering.journal.space import SpaceWriter, names
from treering.memory import index, memory_parts
from treering.records import Entry, Forgotten, Receipt, Stats
from treering.serve import roles
from treering.serve.access import Access, author, caller_of, served_repository
from treering.serve.metrics import Metrics
from treering.serve.once import ClaimedRequest, OnceOnly
from treering.serve.rest.requests import AddRequest, PathText, request_of
from treering.serve.rest.routes import new_router
from treering.serve.roles import FULL
from treering.serve.settling import Settling
from treering.serve.spaces import Asking, Spaces, Tenant
from treering.views.code.memory import CodeMemory
from treering.views.code.rounds.session import SessionBlock
from treering.views.pending import in_words

entries = new_router("entries", "/v1/entries")
memos = new_router("memos", "/v1/memos")
code = new_router("code", "/v1/code")
upkeep = new_router("upkeep", "/v1")
health = APIRouter(tags=["health"], include_in_schema=False)

ROUTERS = (entries, memos, code, upkeep, health)

IMPORT_PATH = "/v1/import"
"""The path whose body may be larger than those of all others."""

NDJSON = "application/x-ndjson"
PAGE = 256  # lines of an export at a time: a change of threads for each would cost more
MAX_LINE_BYTES = 16 * 2**20  # four times the longest entry in UTF-8, for escapes
MAX_WAIT_S = 20.0  # below the time-outs of common clients and proxies


@entries.post("", status_code=HTTPStatus.CREATED, response_model=Receipt)
async def add(new: AddRequest, request: Request, tenant: Asking, once: OnceOnly) -> Response:
    """Remember a text or a conversation; durable once answered. Known texts are not added twice."""
    metrics: Metrics = request.app.state.metrics
    content = new.content()
    envelope = Envelope.check(**new.given("text", "messages", "source", "propose"))

    def work(claimed: ClaimedRequest | None) -> Receipt:
        def record(writer: SpaceWriter, receipt: Receipt) -> None:
            if claimed is not None:
                claimed.keep_answer(writer, envelope.count(receipt))

        space, views, intake, *_ = memory_parts(tenant.memory)
        if (proposer := _proposer(request, tenant, new.propose)) is not None:
            return corrections.propose(space, content, new.source, envelope, proposer)
        receipt = intake.add(content, new.source, envelope, before_commit=record)
        metrics.added.inc(receipt.added)
        return index(views, envelope.count(receipt))

    return await once.reply("write", work, status=HTTPStatus.CREATED, quotes=False)


def _proposer(request: Request, tenant: Tenant, named: str | None) -> str | None:
    """Return the proposer, which a key that may only add is where agents may only propose."""
    caller = caller_of(request)
    must = named is None and not caller.may(FULL, tenant.space)
    if must and corrections.takes_only_proposals(tenant.memory):
        return caller.key
    return None if named is None else author(request, named)


@memos.get("/{memo_id}/lines", name="lines")
async def memo_lines(memo_id: str, tenant: Asking) -> list[Entry]:
    """The lines that a memo sums up, word for word."""

    def work() -> list[Entry]:
        memos = tenant.memory.memos
        return memos.lines(memos.get(memo_id))

    return await tenant.run("read", work)


class CodeRecordRequest(request_of(CodeMemory.record)):  # type: ignore[misc]
    """A round of work on code: its instruction, and its changes.

    Give ``root`` for the git working tree there, or the files ``after`` the round, and ``before``.
    """

    root: PathText | None = None
    before: dict[PathText, str] | None = None
    after: dict[PathText, str] | None = None


@code.post("/rounds", name="record", status_code=HTTPStatus.CREATED)
async def record_round(
    body: CodeRecordRequest, request: Request, tenant: Asking
) -> tuple[SessionBlock, ...]:
    """Remember a round of work: its instruction, and every definition that it changed."""
    given = body.given("root")
    if body.root is not None:
        given["root"] = await tenant.run(
            "read", served_repository, request.app.state.settings, body.root
        )
    elif body.after is None:
        raise InputError("give root, or the files as they are after the round", param="root")
    return await tenant.run("write", lambda: tenant.memory.code.record(**given))


class PendingWork(BaseModel):
    """Queued work by kind, the same in words (``told``), and whether the server works on it."""

    pending: dict[str, int]
    told: dict[str, str]
    settling: bool


@upkeep.get("/spaces")
async def spaces(request: Request) -> list[str]:
    """The names of the spaces that the caller may use: those that its key opens, or all."""
    tenant_spaces: Spaces = request.app.state.spaces
    caller = caller_of(request)
    every = {*await tenant_spaces.read(names), *caller.own_spaces}
    return sorted(name for name in every if caller.may(roles.READ, name))


@upkeep.put("/spaces/{name:path}")
async def begin_space(name: str, request: Request) -> list[str]:
    """Make an empty space; the first entry of a space makes it, too."""
    tenant_spaces: Spaces = request.app.state.spaces
    caller_of(request).ensure(roles.FULL, name)
    await tenant_spaces.begin(name)
    return await spaces(request)


@upkeep.delete("/spaces/{name:path}")
async def forget_space(name: str, request: Request) -> Forgotten:
    """Erase a space: all it holds, its name, and the keys that open only it."""
    caller = caller_of(request)
    caller.ensure(roles.FULL, name)
    tenant_spaces: Spaces = request.app.state.spaces
    tenant = await tenant_spaces.tenant(caller.space or name)
    forgotten = await tenant.run("write", tenant.memory.forget_space, name)
    access: Access = request.app.state.access
    tenant_spaces.drop(name)
    access.read_keys()  # now: a key of the space would make it again
    return forgotten


@upkeep.get("/pending", name="pending")
async def pending_work(request: Request, tenant: Asking) -> PendingWork:
    """The queued work of the space."""
    settling: Settling = request.app.state.settling
    figures = await tenant.run("read", tenant.memory.stats)
    return PendingWork(
        pending=dict(figures.pending),
        told={kind: in_words(kind, count) for kind, count in figures.pending.items()},
        settling=settling.at_work(tenant.space),
    )


@upkeep.post(
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


@upkeep.get(
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
    first = await tenant.run("read", page)

    async def pages() -> AsyncIterator[bytes]:
        yield first
        while lines_of_page := await tenant.run("read", page):
            yield lines_of_page

    return StreamingResponse(pages(), media_type=NDJSON)


@upkeep.post(
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
        return await tenant.run(
            "wait",
            partial(
                tenant.memory.import_,
                _lines(received),
                settings=settings,
                again_forgotten=again_forgotten,
            ),
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
