"""Facts: what was stated of people and things, and what later statements superseded."""

from __future__ import annotations

from treering.serve.rest.router import router_of
from treering.serve.tenant import Asking
from treering.views.facts.view import Change, Fact

router = router_of("facts", "/v1/facts")


@router.get("")
async def list_(
    tenant: Asking, subject: str | None = None, current: bool = False, as_of: str | None = None
) -> list[Fact]:
    """Statements in the order they were said; ``current``: those that nothing has superseded.

    ``as_of``: those that had been said by then.
    """
    facts = tenant.memory.facts
    return await tenant.change(facts.current if current else facts.all, subject, as_of)


@router.get("/changes")
async def changes(tenant: Asking, as_of: str | None = None) -> list[Change]:
    """What was superseded by what, in the order of the newer statements."""
    return await tenant.change(tenant.memory.facts.changes, as_of)


@router.post("/judge")
async def judge(tenant: Asking) -> int:
    """Let the language model judge what rules cannot; how many statements were superseded."""
    return await tenant.call_slow(tenant.memory.facts.judge)
