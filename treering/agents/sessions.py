"""Which messages a model still has before it: those need not be recalled."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treering.agents import inbox
from treering.agents.files import read_record, replace_file
from treering.agents.home import make_private

KEPT = 200
"""Sessions that somebody may still go on with."""


class SessionsInView:
    """Since when, in seconds, the messages of each session are before its model.

    From its start, until a compaction: then only those said since. Kept in a file, as a server may
    end in the middle of a session.
    """

    def __init__(self, memory: str) -> None:
        self._path: Path = inbox.folder_of(memory) / "sessions"
        # If it is damaged, they are recalled once too often.
        self._since: dict[str, float] = read_record(self._path)

    def follow(self, request: Mapping[str, Any]) -> None:
        """Note what the event at a session's start says."""
        session = request.get("session")
        if not isinstance(session, str) or request.get("event") != "session-start":
            return
        self._since.pop(session, None)
        self._since[session] = time.time() if request.get("source") == "compact" else 0.0
        newest = list(self._since.items())[-KEPT:]
        make_private(self._path.parent)
        replace_file(self._path, json.dumps(dict(newest)).encode(), private=True)

    def of(self, request: Mapping[str, Any]) -> dict[str, float]:
        """The session that an event is of, and since when; empty if nothing is known of it."""
        session = request.get("session")
        if not isinstance(session, str) or session not in self._since:
            return {}
        return {session: self._since[session]}
