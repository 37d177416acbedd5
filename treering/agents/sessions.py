"""What a model still has before it in a session: that need not be recalled."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from treering.files import replace_file
from treering.hooks import inbox
from treering.hooks.places import make_private, read_record

KEPT = 200
"""Sessions that somebody may still go on with."""
TEXTS_KEPT = 500
"""Texts put into one session: more than a model has before it between two compactions."""


class SessionsInView:
    """Since when, in seconds, the messages of a session are before its model; what was put in.

    From its start, until a compaction: then only what came since. The times are kept in a file, as
    a server may end in the middle of a session; what was put in may then come once more. All
    methods may be called from any thread.
    """

    def __init__(self, memory: str) -> None:
        self._path: Path = inbox.folder_of(memory) / "sessions"
        # If it is damaged, they are recalled once too often.
        self._since: dict[str, float] = read_record(self._path)
        self._put_in: dict[str, list[str]] = {}
        self._changing = threading.Lock()

    def follow(self, request: Mapping[str, Any]) -> None:
        """Note what the events at a session's start and before a compaction say."""
        session, event = request.get("session"), request.get("event")
        if not isinstance(session, str) or event not in ("session-start", "compact"):
            return
        # Some clients say beforehand that they compact, some at the start that follows, some both.
        is_compacted = "compact" in (event, request.get("source"))
        with self._changing:
            if is_compacted or request.get("source") != "resume":  # else it goes on as it was
                self._put_in.pop(session, None)
            self._since.pop(session, None)
            self._since[session] = time.time() if is_compacted else 0.0
            newest = list(self._since.items())[-KEPT:]
            make_private(self._path.parent)
            replace_file(self._path, json.dumps(dict(newest)).encode(), private=True)

    def of(self, request: Mapping[str, Any]) -> dict[str, float]:
        """The session that an event is of, and since when; empty if nothing is known of it."""
        session = request.get("session")
        if not isinstance(session, str) or session not in self._since:
            return {}
        return {session: self._since[session]}

    def note_put_in(self, request: Mapping[str, Any], text: str) -> None:
        """Note a text that the model of an event's session now has before it."""
        session = request.get("session")
        if not isinstance(session, str) or not text:
            return
        with self._changing:
            texts = self._put_in.pop(session, [])
            self._put_in[session] = [*texts, text][-TEXTS_KEPT:]
            for oldest in list(self._put_in)[:-KEPT]:
                del self._put_in[oldest]

    def put_in(self, request: Mapping[str, Any]) -> Sequence[str]:
        """The texts that were put into the session of an event."""
        return self._put_in.get(str(request.get("session")), [])
