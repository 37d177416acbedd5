"""Codex: one session a file, ``~/.codex/sessions/YYYY/MM/DD/rollout-TIME-SESSION.jsonl``."""

from __future__ import annotations

import hashlib
import re

from treering.ingest.transcripts import values
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.json_files import EventReader, LineFormat, lines_from, parse_object
from treering.ingest.transcripts.values import Fields, below, name_of, text_of

FRAMES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})

_FAILED = re.compile(r'(?:"exit_code":\s*|exit code:?\s*)-?[1-9]', re.IGNORECASE)
_NOTE = re.compile(
    "<(?:environment_context|user_instructions|permissions|turn_aborted|skill|INSTRUCTIONS|"
    "user_shell_command)|# AGENTS.md instructions"
)
"""How texts begin that the client puts in the user's mouth."""


class CodexFormat(LineFormat):
    """Rollouts of Codex."""

    name = "codex"

    def recognises_line(self, line: Fields) -> bool:
        """A frame; in old files, a first line with the session."""
        framed = text_of(line.get("type")) in FRAMES and isinstance(line.get("payload"), dict)
        return framed or {"id", "timestamp", "instructions"} <= line.keys()

    def event_reader(self, path: TranscriptPath) -> EventReader:
        """Reads events of a session, which the first line of its file describes."""
        first = parse_object(next(lines_from(path), (0, b""))[1]) or {}
        about = values.objects([first.get("payload"), first])[0]
        return lambda offset, event: iter([_item(path.stem, about, offset, event)])


def _item(session: str, about: Fields, offset: int, event: Fields) -> TranscriptItem:
    said = _said(event)
    if isinstance(said, Omission):
        return said
    # No line has an id. Its time and text stay the same if the file is renamed or cut.
    time, identity = text_of(event.get("timestamp")), name_of(about.get("id")) or session
    digest = hashlib.sha256("\0".join(said).encode("utf-8", "replace")).hexdigest()
    return TranscriptMessage(
        id=f"{identity}:{time}:{digest}" if time else f"{identity}:{offset}",
        role=said[0],
        text=said[1],
        source=f"codex/{session}",
        at=values.time_of(time),
        session=session,
        project=name_of(about.get("cwd")),
    )


def _said(event: Fields) -> tuple[str, str] | Omission:
    """The role and text of an event, or the reason to omit it."""
    frame = text_of(event.get("type"))
    if frame != "response_item" and (frame in FRAMES or not frame):
        return Omission(f"lines of the client's own type {frame or 'session'!r}")
    item = event.get("payload") if frame == "response_item" else event
    kind, role, content = text_of(below(item, "type")), below(item, "role"), below(item, "content")
    if kind == "message":
        parts = (part.get("text") or f"[{part.get('type')}]" for part in values.objects(content))
        text = text_of(content) or values.join_lines(*map(text_of, parts))
        said = role in ("user", "assistant") and not _NOTE.match(text)
        return (str(role), text) if said else Omission("notes of the client")
    if kind.endswith("_call"):
        arguments = below(item, "arguments") or below(item, "input") or below(item, "action")
        server, name = below(item, "namespace"), below(item, "name") or kind
        return "assistant", values.call_line(f"{server}__{name}" if server else name, arguments)
    if kind.endswith("_call_output"):
        output = str(below(item, "output"))
        failed = _FAILED.search(output, 0, 500)  # it begins with its exit code
        return ("user", values.error_line(output)) if failed else Omission("results of tools")
    thought = kind == "reasoning"
    return Omission("thoughts of the model" if thought else f"items of unknown type {kind!r:.60}")
