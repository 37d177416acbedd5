"""The policies of a chat by name. A policy chooses the parts of a prompt beside the message."""

from __future__ import annotations

import json
from typing import Final

from treering.chat.auto import AutoPolicy
from treering.chat.policy import (
    JOIN,
    QUERY_CHARS,
    Evidence,
    Layout,
    Materials,
    Policy,
    Sources,
    Turn,
    cite,
    ids,
    newest,
    tokens,
)
from treering.errors import UnknownName
from treering.search.context import CountTokens
from treering.views.memos.record import MemoEvidence

MEMO_RECENT_SHARE: Final = 0.5
"""The paper's: memos are written once the recent dialogue fills half the window."""

NUMBER_TOKENS: Final = 5  # of an evidence's "(n)" and the blank line before it


class WindowPolicy:
    """Every line of the conversation, or as many of the newest as fit."""

    name = "window"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:  # noqa: ARG002
        """The newest end of the conversation; nothing is recalled."""
        return Materials(recent=newest(turn.history, turn.room, turn.count))


class FragmentsPolicy:
    """FragRel's chat protocol (appendix B.3): the last round, and fragments that relate to it."""

    name = "fragments"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The whole conversation while it is short, else its last round and passages."""
        if turn.is_short:
            return Materials(recent=turn.history)
        recent = newest(turn.last_round, turn.room, turn.count)
        left = turn.room - tokens(recent, turn.count)
        if left <= 0:
            return Materials(recent=recent)
        context = sources.passages(turn.query, left, ids(recent))
        return Materials(cite(context, turn.layout), recent, context)


class NodesPolicy:
    """The nodes of the tree that answer the message, and nothing else (MemTree, A.2.2)."""

    name = "nodes"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The nodes; no recent dialogue, whose rounds are leaves of the tree."""
        return Materials(tuple(sources.nodes(turn.message.strip()[-QUERY_CHARS:], turn.room)))


class MemoPolicy:
    """MemoChat: memos are written as they fall due, and those the message is about are chosen."""

    name = "memo"
    writes_memos = True

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """Topics, summaries and dialogues of the chosen memos, and the recent dialogue."""
        history = turn.history
        written = sources.written_lines(history[-1].source) if history else frozenset()
        unwritten = [entry for entry in history if entry.id not in written]
        recent = newest(unwritten, int(turn.room * MEMO_RECENT_SHARE), turn.count)
        left = turn.room - tokens(recent, turn.count)
        evidences = []
        for memo in sources.choose_memos(turn.message.strip()[-QUERY_CHARS:]):
            evidence = _fitting_memo(memo, left, turn.count, turn.layout)
            if evidence is not None:
                evidences.append(evidence)
                left -= turn.count(evidence.text) + NUMBER_TOKENS
        return Materials(tuple(evidences), recent)


def _fitting_memo(
    memo: MemoEvidence, room: int, count: CountTokens, layout: Layout
) -> Evidence | None:
    """A memo with as many of its lines as fit; None if not even its summary does."""
    entry_ids = memo.memo.entry_ids
    for lines in range(len(memo.dialogues), -1, -1):
        text = _memo_text(memo, lines, layout)
        if count(text) + NUMBER_TOKENS <= room:
            return Evidence(text, entry_ids[:lines], entry_ids[lines:])
    return None


def _memo_text(memo: MemoEvidence, lines: int, layout: Layout) -> str:
    """The evidence of table 8. In our layout it is JSON, so that a quotation mark in a text cannot
    end the text."""
    fields = {
        "Related Topics": memo.topic,
        "Related Summaries": memo.summary,
        "Related Dialogs": JOIN.join(memo.dialogues[:lines]),
    }
    if layout == "printed":
        return "{" + ", ".join(f"'{name}': '{text}'" for name, text in fields.items()) + "}"
    return json.dumps(fields, ensure_ascii=False)


POLICIES: Final[dict[str, Policy]] = {
    policy.name: policy
    for policy in (
        AutoPolicy(),
        WindowPolicy(),
        FragmentsPolicy(),
        NodesPolicy(),
        MemoPolicy(),
    )
}


def find_policy(policy: str | Policy) -> Policy:
    """The policy of that name; one of your own is returned as it is. Raises UnknownName."""
    if not isinstance(policy, str):
        return policy
    if policy not in POLICIES:
        raise UnknownName(f"no chat policy {policy!r}; there are {', '.join(POLICIES)}")
    return POLICIES[policy]
