"""The plain policy: the conversation itself, whole while it fits, else its newest end."""

from __future__ import annotations

from treering.chat.policy import Materials, Sources, Turn, newest


class WindowPolicy:
    """Every line of the conversation, or as many of the newest as fit."""

    name = "window"
    writes_memos = False

    def materials(self, turn: Turn, sources: Sources) -> Materials:  # noqa: ARG002
        """The newest end of the conversation; nothing is recalled."""
        return Materials(recent=newest(turn.history, turn.room, turn.count))
