"""Search, context, answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from treering.answer import Answer
from treering.recall.brief import Brief
from treering.records import Context, Hit
from treering.serve.rest.wire import Question, Search, SearchMany, WantedBrief, WantedContext
from treering.serve.tenant import Asking

router = APIRouter(tags=["recall"], prefix="/v1")


@router.post("/search")
async def search(wanted: Search, tenant: Asking) -> list[Hit]:
    """The fragments that answer a query best, best first, each with the terms of its score."""
    return await tenant.search(wanted.query, wanted.options())


@router.post("/search-many")
async def search_many(wanted: SearchMany, tenant: Asking) -> list[list[Hit]]:
    """As ``search``, for several queries in one pass."""
    return await tenant.call(tenant.memory.search_many, wanted.queries, **wanted.options())


@router.post("/context")
async def context(wanted: WantedContext, tenant: Asking) -> Context:
    """Passages for a prompt within a budget of tokens, cited."""
    return await tenant.call(tenant.memory.context, wanted.query, **wanted.options())


@router.get("/brief")
async def brief(wanted: Annotated[WantedBrief, Query()], tenant: Asking) -> Brief:
    """What to know of the space before one begins, cited, within a budget of tokens."""
    return await tenant.change(tenant.memory.brief, budget=wanted.budget)


@router.post("/ask")
async def ask(wanted: Question, tenant: Asking) -> Answer:
    """Answer a question from the memory, with citations."""
    return await tenant.call_slow(
        tenant.memory.ask,
        wanted.question,
        budget=wanted.budget,
        altitude=wanted.altitude,
        **wanted.filters(),
    )
