"""The messages and recalled lines that a model has seen in a session: they are not repeated."""

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
"""Sessions that may still go on."""
TEXTS_KEPT = 500
"""Texts put into one session: more than a model sees between two compactions."""


class SessionsInView:
    """The time, in seconds, since which a model sees the messages of a session, and recalled texts.

    It sees them from the session's start; after a compaction, only later ones. The times are in a
    file, because a server may end in the middle of a session; recalled texts may then come twice.
    All methods may be called from any thread.
    """

    def __init__(self, memory: str) -> None:
        self._path: Path = inbox.folder_of(memory) / "sessions"
        self._since: dict[str, float] = read_record(self._path)
        self._put_in: dict[str, list[str]] = {}
        self._changing = threading.Lock()

    def follow(self, request: Mapping[str, Any]) -> None:
        """Apply the events of a session's start and of a compaction."""
        session, event = request.get("session"), request.get("event")
        if not isinstance(session, str) or event not in ("session-start", "compact"):
            return
        # A client announces a compaction beforehand, or at the start that follows, or both.
        is_compacted = "compact" in (event, request.get("source"))
        with self._changing:
            if is_compacted or request.get("source") != "resume":
                self._put_in.pop(session, None)
            self._since.pop(session, None)
            self._since[session] = time.time() if is_compacted else 0.0
            newest = dict(list(self._since.items())[-KEPT:])
            make_private(self._path.parent)
            replace_file(self._path, json.dumps(newest).encode(), private=True)

    def in_view(self, request: Mapping[str, Any]) -> dict[str, float]:
        """Return the session of an event with its time; empty if it is unknown."""
        session = request.get("session")
        if not isinstance(session, str) or session not in self._since:
            return {}
        return {session: self._since[session]}

    def note_put_in(self, request: Mapping[str, Any], text: str) -> None:
        """Store a text that the model of an event's session has seen."""
        session = request.get("session")
        if not isinstance(session, str) or not text:
            return
        with self._changing:
            texts = self._put_in.pop(session, [])
            self._put_in[session] = [*texts, text][-TEXTS_KEPT:]
            for oldest in list(self._put_in)[:-KEPT]:
                del self._put_in[oldest]

    def put_in(self, request: Mapping[str, Any]) -> Sequence[str]:
        """Return the texts that were put into the session of an event."""
        return self._put_in.get(str(request.get("session")), [])
