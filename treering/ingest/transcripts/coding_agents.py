"""Sessions of coding agents, a file each, to which the client appends a line of JSON at a time.

Claude Code writes ``~/.claude/projects/PROJECT/SESSION.jsonl``, and Codex
``~/.codex/sessions/YYYY/MM/DD/rollout-TIME-SESSION.jsonl``.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path

from treering import files
from treering.ingest.transcripts import values
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import (
    Omission,
    TranscriptItem,
    TranscriptMessage,
    format_of,
    formats,
)
from treering.ingest.transcripts.values import Fields, below, name_of, parse_object, text_of

HEAD_LINES = 20

SPOKEN = frozenset({"user", "assistant"})
FRAMES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})

_OWN_KEYS = ("sessionId", "leafUuid", "parentUuid", "snapshot")
_WRAPPERS = ("<command-", "<local-command-", "<bash-", "<system-reminder>", "Caveat: The messages")
_FAILED = re.compile(r'(?:"exit_code":\s*|exit code:?\s*)-?[1-9]', re.IGNORECASE)
_NOTE = re.compile(
    "<(?:environment_context|user_instructions|permissions|turn_aborted|skill|INSTRUCTIONS|"
    "user_shell_command)|# AGENTS.md instructions"
)
"""How texts begin that Codex puts in the user's mouth; ``_WRAPPERS`` are those of Claude Code."""


class SessionFormat(ABC):
    """A format that can be read line by line, from any line on."""

    name: str

    @abstractmethod
    def recognises_line(self, line: Fields) -> bool:
        """Whether one of the first lines of a file is of this format."""

    @abstractmethod
    def read_event(
        self, file: str, first: Fields, offset: int, event: Fields
    ) -> Iterable[TranscriptItem]:
        """Return the messages and omissions of an event.

        ``file`` is the name of its file, ``first`` the first line, and ``offset`` its place there.
        """

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """Whether one of a file's first lines is of this format."""
        lines = map(parse_object, head.split("\n")[:HEAD_LINES] if path.suffix == ".jsonl" else ())
        return any(line is not None and self.recognises_line(line) for line in lines)

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """Read all lines of a file."""
        for _, items in self.read_from(path):
            yield from items

    def read_from(
        self, path: TranscriptPath, offset: int = 0
    ) -> Iterator[tuple[bytes, Iterable[TranscriptItem]]]:
        """Read the lines from an offset on; yield each with its items."""
        first = parse_object(next(_lines(path), (0, b""))[1]) or {}
        for start, line in _lines(path, offset):
            if (event := parse_object(line)) is not None:
                yield line, self.read_event(path.stem, first, start, event)
            else:
                yield line, [Omission("lines that are not JSON")] if line.strip() else []


def _lines(path: TranscriptPath, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from a byte offset on, each with its own offset."""
    with files.open_file(path) as stream:
        if offset:
            stream.seek(offset)
        for line in stream:
            yield offset, line
            offset += len(line)


def session_format_of(path: Path) -> SessionFormat | None:
    """Return the format of a session of a coding agent; None for other files."""
    found = format_of(path, [entry for entry in formats() if isinstance(entry, SessionFormat)])
    return found if isinstance(found, SessionFormat) else None


# ------------------------------------------------------------------------------- Claude Code


class ClaudeCodeFormat(SessionFormat):
    """Transcripts of Claude Code."""

    name = "claude-code"

    def recognises_line(self, line: Fields) -> bool:
        """A type and one of the client's own keys."""
        return bool(text_of(line.get("type"))) and any(key in line for key in _OWN_KEYS)

    def read_event(
        self, file: str, first: Fields, offset: int, event: Fields
    ) -> Iterable[TranscriptItem]:
        """Read an event, which names its session itself."""
        del first
        kind, message = text_of(event.get("type")), event.get("message")
        if kind not in SPOKEN or not isinstance(message, dict):
            yield Omission(f"lines of the client's type {kind!r:.60}")
        elif event.get("isMeta"):
            yield Omission("notes of the client")
        elif event.get("isCompactSummary"):
            yield Omission("summaries of earlier messages, made at compaction")
        else:
            content = message.get("content")
            texts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            text, omitted = values.text_and_omissions(map(_part, values.objects(texts)))
            yield from omitted
            if text:
                yield _message(event, text, file, offset)


def _part(block: Fields) -> str | Omission:
    note = block.get("type") == "text" and text_of(block.get("text")).startswith(_WRAPPERS)
    return Omission("notes of the client") if note else values.block_part(block)


def _message(event: Fields, text: str, file: str, offset: int) -> TranscriptMessage:
    session = name_of(event.get("sessionId")) or file
    # Work of an agent gets its own source: its messages are not neighbours of the user's.
    aside = (name_of(event.get("agentId")) or "sidechain") if event.get("isSidechain") else None
    return TranscriptMessage(
        id=name_of(event.get("uuid")) or f"{session}:{offset}",
        source="/".join(filter(None, ("claude-code", session, aside))),
        text=text,
        role=text_of(event.get("type")),
        at=values.time_of(event.get("timestamp")),
        session=session,
        project=name_of(event.get("cwd")),
        metadata={"branch": name_of(event.get("gitBranch")), "sidechain": aside},
    )


# ------------------------------------------------------------------------------------- Codex


class CodexFormat(SessionFormat):
    """Rollouts of Codex."""

    name = "codex"

    def recognises_line(self, line: Fields) -> bool:
        """One of the client's frames around an object."""
        return text_of(line.get("type")) in FRAMES and isinstance(line.get("payload"), dict)

    def read_event(
        self, file: str, first: Fields, offset: int, event: Fields
    ) -> Iterable[TranscriptItem]:
        """Read an event of the session that the first line describes."""
        said = _said(event)
        if isinstance(said, Omission):
            yield said
            return
        # No line has an id. Its time and text stay the same if the file is renamed or cut.
        time, identity = text_of(event.get("timestamp")), name_of(below(first, "payload", "id"))
        digest = hashlib.sha256("\0".join(said).encode("utf-8", "replace")).hexdigest()
        yield TranscriptMessage(
            id=f"{identity or file}:{f'{time}:{digest}' if time else offset}",
            role=said[0],
            text=said[1],
            source=f"codex/{file}",
            at=values.time_of(time),
            session=file,
            project=name_of(below(first, "payload", "cwd")),
        )


def _said(event: Fields) -> tuple[str, str] | Omission:
    """The role and text of an event, or the reason to omit it."""
    frame, item = text_of(event.get("type")), event.get("payload")
    if frame != "response_item":
        return Omission(f"lines of the client's type {frame!r:.60}")
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
