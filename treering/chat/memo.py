"""MemoChat's respond stage: evidences from chosen memos, and dialogue no memo stands for yet."""

from __future__ import annotations

import json

from treering.chat.policy import (
    QUERY_CHARS,
    Evidence,
    Layout,
    Materials,
    Sources,
    Turn,
    newest,
    tokens,
)
from treering.search.context import CountTokens
from treering.views.memos.record import LINE_JOIN, MemoEvidence

RECENT_SHARE = 0.5  # the paper's: memos are written once the recent dialogue fills half the window
NUMBER_TOKENS = 5  # of an evidence's "(n)" and the blank line before it


class MemoPolicy:
    """The paper: memos are written as they fall due, and those the message is about are chosen.

    ``layout`` is that of the prompt: ours, or that of table 8.
    """

    name = "memo"
    writes_memos = True

    def __init__(self, layout: Layout = "tagged") -> None:
        self._layout: Layout = layout

    def materials(self, turn: Turn, sources: Sources) -> Materials:
        """Topics, summaries and dialogues of the chosen memos, and the recent dialogue."""
        history = turn.history
        written = sources.written(history[-1].source) if history else frozenset()
        unwritten = [entry for entry in history if entry.id not in written]
        recent = newest(unwritten, int(turn.room * RECENT_SHARE), turn.count)
        left = turn.room - tokens(recent, turn.count)
        evidences = []
        for chosen in sources.chosen(turn.message.strip()[-QUERY_CHARS:]):
            evidence = _fitting(chosen, left, turn.count, self._layout)
            if evidence is not None:
                evidences.append(evidence)
                left -= turn.count(evidence.text) + NUMBER_TOKENS
        return Materials(tuple(evidences), recent, layout=self._layout)


def _fitting(
    chosen: MemoEvidence, room: int, count: CountTokens, layout: Layout
) -> Evidence | None:
    """A memo with as many of its lines as fit; None if not even its summary does."""
    ids = chosen.memo.entry_ids
    for lines in range(len(chosen.dialogues), -1, -1):
        text = _shown(chosen, lines, layout)
        if count(text) + NUMBER_TOKENS <= room:
            return Evidence(text, ids[:lines], ids[lines:])
    return None


def _shown(chosen: MemoEvidence, lines: int, layout: Layout) -> str:
    """The evidence of table 8; in our layout as JSON, so that a quotation mark in a text cannot end
    the text."""
    fields = {
        "Related Topics": chosen.topic,
        "Related Summaries": chosen.summary,
        "Related Dialogs": LINE_JOIN.join(chosen.dialogues[:lines]),
    }
    if layout == "printed":
        return "{" + ", ".join(f"'{name}': '{text}'" for name, text in fields.items()) + "}"
    return json.dumps(fields, ensure_ascii=False)
