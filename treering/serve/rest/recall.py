"""Search, whose requests of the same moment are answered together."""

from __future__ import annotations

from treering.records import Hit
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import SearchRequest
from treering.serve.tenant import Asking

router = router_of("recall", "/v1")


@router.post("/search")
async def search(body: SearchRequest, tenant: Asking) -> list[Hit]:
    """The fragments that answer a query best, best first, each with the terms of its score."""
    return await tenant.search(**body.given())
