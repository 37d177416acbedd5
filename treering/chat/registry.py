"""The policies by name."""

from __future__ import annotations

from treering.chat.auto import AutoPolicy
from treering.chat.fragments import FragmentsPolicy
from treering.chat.memo import MemoPolicy
from treering.chat.policy import Policy
from treering.chat.tree import NodesPolicy, TreePolicy
from treering.chat.window import WindowPolicy
from treering.errors import UnknownName
from treering.views.choices import Wording

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        AutoPolicy(),
        WindowPolicy(),
        FragmentsPolicy(),
        NodesPolicy(),
        TreePolicy(),
        MemoPolicy(),
    )
}


PRINTED_MEMO: Policy = MemoPolicy("printed")


def policy_of(chosen: str | Policy, wording: Wording = "plain") -> Policy:
    """The policy of that name; one of your own is taken as it is. Raises UnknownName.

    With MemoChat's ``wording`` the policy ``memo`` has the layout that it prints.
    """
    if chosen == MemoPolicy.name and wording != "plain":
        return PRINTED_MEMO
    if not isinstance(chosen, str):
        return chosen
    if chosen not in POLICIES:
        raise UnknownName(f"no chat policy {chosen!r}; there are {', '.join(POLICIES)}")
    return POLICIES[chosen]
