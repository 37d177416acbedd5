"""The policies by name."""

from __future__ import annotations

from treering.chat.auto import AutoPolicy
from treering.chat.fragments import FragmentsPolicy
from treering.chat.memo import MemoPolicy
from treering.chat.policy import Policy
from treering.chat.tree import TreePolicy
from treering.chat.window import WindowPolicy
from treering.errors import UnknownName

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (AutoPolicy(), WindowPolicy(), FragmentsPolicy(), TreePolicy(), MemoPolicy())
}


def policy_of(chosen: str | Policy) -> Policy:
    """The policy of that name; one of your own is taken as it is. Raises UnknownName."""
    if not isinstance(chosen, str):
        return chosen
    if chosen not in POLICIES:
        raise UnknownName(f"no chat policy {chosen!r}; there are {', '.join(POLICIES)}")
    return POLICIES[chosen]
