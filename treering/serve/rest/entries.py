"""Entries: add, list, get, replace, forget."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field, Json

from treering.errors import InputError
from treering.memory import add_recorded
from treering.records import JSON, Entry, Page, Receipt
from treering.serve.metrics import Metrics
from treering.serve.once import ClaimedRequest, OnceOnly
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import (
    IN_QUERY,
    AddMessagesRequest,
    AddTextRequest,
    Body,
    FilterRequest,
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


class EntryChangeRequest(Body):
    """Another text for an entry, or whether it comes before all others."""

    text: str | None = None
    pinned: bool | None = None


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


@router.patch("/entries/{entry_id}")
async def change(entry_id: str, body: EntryChangeRequest, tenant: Asking) -> Entry:
    """Give an entry another text, or let it come before all others in contexts and briefs.

    Its place, time, speaker and metadata stay.
    """
    if body.text is not None and body.pinned is None:
        return await tenant.change(tenant.memory.replace, entry_id, body.text)
    if body.pinned is not None and body.text is None:
        return await tenant.change(tenant.memory.pin, entry_id, body.pinned)
    raise InputError("give text or pinned")
