"""Summaries and texts from the tree (MemTree): what was said, at mixed altitudes."""

from __future__ import annotations

from treering.chat.fragments import is_short
from treering.chat.policy import (
    QUERY_CHARS,
    Materials,
    Sources,
    Turn,
    ids,
    newest,
    query,
    tokens,
)


class TreePolicy:
    """The last round, and nodes of the tree: a summary or what it stands for, never both."""

    name = "tree"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The whole conversation while it is short, else its last round and nodes of the tree."""
        if is_short(turn):
            return Materials(recent=turn.history)
        recent = newest(turn.last_round, turn.room, turn.count)
        left = turn.room - tokens(recent, turn.count)
        if left <= 0:
            return Materials(recent=recent)
        shown = ids(recent)
        nodes = sources.nodes(query(turn), left)
        new = tuple(
            node for node in nodes if not shown.issuperset(node.entries) or not node.entries
        )
        return Materials(new, recent)


class NodesPolicy:
    """The nodes of the tree that answer the message, and nothing else (MemTree, A.2.2)."""

    name = "nodes"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """The nodes; no recent dialogue, whose rounds are leaves of the tree."""
        return Materials(tuple(sources.nodes(turn.message.strip()[-QUERY_CHARS:], turn.room)))
