"""Facts about people and things, and which of them were superseded."""

from __future__ import annotations

from treering.serve.rest.router import router_of
from treering.serve.tenant import Asking
from treering.views.facts.change import attribute_key
from treering.views.facts.view import Fact

router = router_of("facts", "/v1/facts")


@router.get("")
async def list_(
    tenant: Asking,
    subject: str | None = None,
    attribute: str | None = None,
    current: bool = False,
    as_of: str | None = None,
) -> list[Fact]:
    """Statements in the order they were said, of all subjects or one, of all attributes or one.

    ``current``: only the facts that hold. ``as_of``: as they were known at that time.
    """
    facts = tenant.memory.facts
    found = await tenant.change(facts.current if current else facts.all, subject, as_of)
    key = None if attribute is None else attribute_key(attribute)
    return [fact for fact in found if key is None or fact.attribute == key]
