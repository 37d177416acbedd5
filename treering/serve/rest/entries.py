"""Entries: add, list, get, replace, forget."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field, Json

from treering.memory import Memory, add_recorded
from treering.records import JSON, Entry, Forgotten, Page, Receipt
from treering.serve.metrics import Metrics
from treering.serve.once import ClaimedRequest, OnceOnly
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import (
    IN_QUERY,
    AddMessagesRequest,
    AddTextRequest,
    Body,
    FilterRequest,
    ReplaceRequest,
    body_of,
)
from treering.serve.tenant import Asking

router = router_of("entries", "/v1")

PAGE = 100
MAX_PAGE = 1_000


class EntryListRequest(FilterRequest):
    """Which entries to list, and from where on."""

    model_config = IN_QUERY

    metadata: Json[dict[str, JSON]] | None = Field(None, description="A JSON object.")
    cursor: str | None = None
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = PAGE


Replies = Annotated[bool, Field(description="Also what a model said that may quote them.")]


class ForgetRequest(FilterRequest):
    """Which entries to erase."""

    ids: list[str] = Field([], max_length=MAX_PAGE)
    replies: Replies = False


@body_of(Memory.pin, "entry_id")
class PinRequest(Body):
    """Whether an entry comes before all others."""


@body_of(Memory.supersede)
class SupersedeRequest(Body):
    """The ids of two entries, of which the new one holds."""


@router.post("/entries", status_code=HTTPStatus.CREATED, response_model=Receipt)
async def add(
    new: AddTextRequest | AddMessagesRequest, request: Request, tenant: Asking, once: OnceOnly
) -> Response:
    """Remember a text or a conversation; durable once answered. What is there already stays."""
    metrics: Metrics = request.app.state.metrics
    content = (
        new.text
        if isinstance(new, AddTextRequest)
        else [message.model_dump(exclude_unset=True) for message in new.messages]
    )

    def work(claimed: ClaimedRequest | None) -> Receipt:
        record = None if claimed is None else claimed.keep_answer
        receipt = add_recorded(tenant.memory, content, record, **new.details())
        metrics.added.inc(receipt.added)
        return receipt

    return await once.reply(tenant.change, work, status=HTTPStatus.CREATED, quotes=False)


@router.get("/entries")
async def list_(body: Annotated[EntryListRequest, Query()], tenant: Asking) -> Page:
    """The entries in the order they were added, a page at a time; ``next`` is the next cursor."""
    return await tenant.call(lambda: tenant.memory.page(**body.given()))


@router.get("/entries/{entry_id}")
async def get(entry_id: str, tenant: Asking) -> Entry:
    """An entry as it was added."""
    return await tenant.call(tenant.memory.get, entry_id)


@router.put("/entries/{entry_id}")
async def replace(entry_id: str, new: ReplaceRequest, tenant: Asking) -> Entry:
    """Give an entry another text; its place, time, speaker and metadata stay."""
    return await tenant.change(tenant.memory.replace, entry_id, new.text)


@router.put("/entries/{entry_id}/pin")
async def pin(entry_id: str, body: PinRequest, tenant: Asking) -> Entry:
    """Let an entry come before all others in contexts and briefs, or no longer."""
    return await tenant.change(tenant.memory.pin, entry_id, **body.given())


@router.post("/supersede")
async def supersede(body: SupersedeRequest, tenant: Asking) -> None:
    """Say that an entry holds instead of another; with null for the new one, take it back."""
    await tenant.change(tenant.memory.supersede, **body.given())


@router.delete("/entries/{entry_id}")
async def forget(entry_id: str, tenant: Asking, replies: Replies = False) -> Forgotten:
    """Erase an entry: from the journal, every view, and the file's bytes."""
    return await tenant.change(lambda: tenant.memory.forget(entry_id, replies=replies))


@router.post("/forget")
async def forget_all(body: ForgetRequest, tenant: Asking) -> Forgotten:
    """Erase the entries of these ids that meet all conditions; give at least one of either."""
    return await tenant.change(
        lambda: tenant.memory.forget(*body.ids, replies=body.replies, **body.filters())
    )
