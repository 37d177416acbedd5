"""Codex: one session a file, ``~/.codex/sessions/YYYY/MM/DD/rollout-TIME-SESSION.jsonl``.

A line is ``{timestamp, type, payload}``; what was said and done is in ``response_item``, and
``event_msg`` says much of it again for the screen. Old files have the items without a frame.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from treering import files
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import (
    Omission,
    TranscriptItem,
    TranscriptMessage,
    shortened,
)
from treering.ingest.transcripts.jsonl import (
    LineReader,
    call_line,
    head_objects,
    line_reader,
    name_of,
    parsed,
    read_lines,
    text_of,
    time_of,
)

FRAMES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
ITEMS = frozenset({"message", "reasoning", *CALLS, *OUTPUTS})

SNIFFED = 500
"""Characters of a tool's output in which its exit code stands."""

_FAILED = re.compile(r'(?:"exit_code":\s*|exit code:?\s*)-?[1-9]', re.IGNORECASE)
_WRAPPERS = (
    *("<environment_context>", "<user_instructions>", "<permissions", "<turn_aborted>"),
    *("<skill>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<user_shell_command>"),
)
"""How texts begin that the client puts in the user's mouth."""


class CodexFormat:
    """Rollouts of Codex."""

    name = "codex"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """Framed lines; or, in old files, a first line with the session and items after it."""
        return path.suffix == ".jsonl" and any(
            (text_of(line.get("type")) in FRAMES and isinstance(line.get("payload"), Mapping))
            or ("id" in line and "timestamp" in line and "instructions" in line)
            for line in head_objects(head)
        )

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of a session."""
        yield from read_lines(path, self.line_reader(path))

    def line_reader(self, path: TranscriptPath) -> LineReader:
        """Reads lines of a session; which one it is stands on the first line of its file."""
        session = _session(path)
        return line_reader(lambda offset, event: _items(session, offset, event))


@dataclass(frozen=True, slots=True)
class CodexSession:
    """The session of a file: its name, its own id, and the folder it began in."""

    name: str
    id: str
    project: str | None


def _items(
    session: CodexSession, offset: int, event: Mapping[str, Any]
) -> Iterator[TranscriptItem]:
    """The message on a line, or why there is none."""
    frame, payload = text_of(event.get("type")), event.get("payload")
    if frame == "response_item" and isinstance(payload, Mapping):
        spoken = _spoken(payload)
    elif frame in ITEMS:
        spoken = _spoken(event)
    elif frame in FRAMES or "instructions" in event or event.get("record_type") == "state":
        spoken = Omission(f"lines of the client's own type {frame or 'session'!r}")
    else:
        spoken = Omission(f"lines of unknown type {frame!r:.60}")
    if isinstance(spoken, Omission):
        yield spoken
    else:
        yield _message(session, event, *spoken, offset)


def _spoken(item: Mapping[str, Any]) -> tuple[str, str] | Omission:
    """The role and text of an item, or why it is left out."""
    kind, role = text_of(item.get("type")), item.get("role")
    if kind == "message" and role in ("user", "assistant"):
        text = "\n".join(filter(None, _parts(item.get("content"))))
        if text.startswith(_WRAPPERS):
            return Omission("notes of the client")
        return (str(role), text) if text.strip() else Omission("messages without text")
    if kind in CALLS:
        arguments = item.get("arguments") or item.get("input") or item.get("action")
        return "assistant", call_line(item.get("name") or kind, arguments)
    if kind in OUTPUTS:
        output = str(item.get("output"))
        failed = _FAILED.search(output[:SNIFFED])
        return ("user", f"[error] {shortened(output)}") if failed else Omission("results of tools")
    if kind == "reasoning":
        return Omission("thoughts of the model")
    if kind == "message":
        return Omission("notes of the client")
    return Omission(f"items of unknown type {kind!r:.60}")


def _parts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping):
            text = text_of(part.get("text"))
            yield text or f"[{part.get('type')}]"


def _message(
    session: CodexSession, event: Mapping[str, Any], role: str, text: str, offset: int
) -> TranscriptMessage:
    # No line has an id of its own. Its time and text stay the same if the file is renamed or cut.
    timestamp = text_of(event.get("timestamp"))
    digest = hashlib.sha256(f"{role}\0{text}".encode("utf-8", "replace")).hexdigest()
    return TranscriptMessage(
        id=f"{session.id}:{timestamp}:{digest}" if timestamp else f"{session.id}:{offset}",
        source=f"codex/{session.name}",
        text=text,
        role=role,
        at=time_of(event.get("timestamp")),
        session=session.name,
        project=session.project,
    )


def _session(path: TranscriptPath) -> CodexSession:
    with files.open_file(path) as stream:
        first = parsed(stream.readline()) or {}
    payload = first.get("payload")
    about = payload if isinstance(payload, Mapping) else first
    return CodexSession(path.stem, name_of(about.get("id")) or path.stem, name_of(about.get("cwd")))
