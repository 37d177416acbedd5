"""Search, context, answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from treering.chat.answer import Answer
from treering.records import Context, Hit
from treering.search.brief import Brief
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import (
    AskRequest,
    BriefRequest,
    ContextRequest,
    SearchManyRequest,
    SearchRequest,
)
from treering.serve.tenant import Asking

router = router_of("recall", "/v1")


@router.post("/search")
async def search(body: SearchRequest, tenant: Asking) -> list[Hit]:
    """The fragments that answer a query best, best first, each with the terms of its score."""
    return await tenant.search(**body.given())


@router.post("/search-many")
async def search_many(body: SearchManyRequest, tenant: Asking) -> list[list[Hit]]:
    """As ``search``, for several queries in one pass."""
    return await tenant.call(lambda: tenant.memory.search_many(**body.given()))


@router.post("/context")
async def context(body: ContextRequest, tenant: Asking) -> Context:
    """Passages for a prompt within a budget of tokens, cited."""
    return await tenant.call(lambda: tenant.memory.context(**body.given()))


@router.get("/brief")
async def brief(query: Annotated[BriefRequest, Query()], tenant: Asking) -> Brief:
    """What to know of the space before one begins, cited, within a budget of tokens."""
    return await tenant.change(lambda: tenant.memory.brief(**query.given()))


@router.post("/ask")
async def ask(body: AskRequest, tenant: Asking) -> Answer:
    """Answer a question from the memory, with citations."""
    return await tenant.call_slow(lambda: tenant.memory.ask(**body.given()))
