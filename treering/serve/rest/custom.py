"""Routes that are more than one call of a method: entries, lines of memos and rounds of code."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import Request, Response

from treering import corrections
from treering.errors import InputError
from treering.ingest.drafts import Envelope
from treering.journal.space import SpaceWriter
from treering.memory import index, memory_parts
from treering.records import Entry, Receipt
from treering.serve.access import author, caller_of, served_repository
from treering.serve.metrics import Metrics
from treering.serve.once import ClaimedRequest, OnceOnly
from treering.serve.rest.requests import AddRequest, PathText, request_of
from treering.serve.rest.routes import new_router
from treering.serve.roles import FULL
from treering.serve.tenant import Asking, Tenant
from treering.views.code.memory import CodeMemory
from treering.views.code.rounds.session import SessionBlock

entries = new_router("entries", "/v1/entries")
memos = new_router("memos", "/v1/memos")
code = new_router("code", "/v1/code")

ROUTERS = (entries, memos, code)


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
        receipt = intake.add(content, new.source, envelope, record=record)
        metrics.added.inc(receipt.added)
        return index(views, envelope.count(receipt))

    return await once.reply(tenant.change, work, status=HTTPStatus.CREATED, quotes=False)


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

    return await tenant.call(work)


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
        given["root"] = await tenant.call(served_repository, request.app.state.settings, body.root)
    elif body.after is None:
        raise InputError("give root, or the files as they are after the round", param="root")
    return await tenant.change(lambda: tenant.memory.code.record(**given))
