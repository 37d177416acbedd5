"""Claude Code: one session a file, ``~/.claude/projects/PROJECT/SESSION.jsonl``.

A line is an event. ``user`` and ``assistant`` hold a message whose content is a text or a list of
blocks: text, thinking, calls of tools and what these gave. Work that was handed to an agent is
marked as a sidechain, in the same file or in one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
    read_lines,
    text_of,
    time_of,
)

SPOKEN = frozenset({"user", "assistant"})
BOOKKEEPING = frozenset(
    {
        *("agent-name", "ai-title", "attachment", "custom-title", "file-history-snapshot"),
        *("last-prompt", "permission-mode", "pr-link", "progress", "queue-operation"),
        *("summary", "system", "tag", "worktree-state"),
    }
)
"""What the client notes for itself; nobody said it."""

_OWN_KEYS = ("sessionId", "leafUuid", "parentUuid", "snapshot")
_WRAPPERS = ("<command-", "<local-command-", "<bash-", "<system-reminder>", "Caveat: The messages")
"""How texts begin that the client puts in the user's mouth."""


class ClaudeCodeFormat:
    """Transcripts of Claude Code."""

    name = "claude-code"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """Lines of JSON with a type and one of the client's own keys."""
        return path.suffix == ".jsonl" and any(
            text_of(line.get("type")) in SPOKEN | BOOKKEEPING
            and any(key in line for key in _OWN_KEYS)
            for line in head_objects(head)
        )

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of a session."""
        yield from read_lines(path, self.line_reader(path))

    def line_reader(self, path: TranscriptPath) -> LineReader:
        """Reads lines of a session; each names its session itself."""
        return line_reader(lambda offset, event: _items(path.stem, offset, event))


def _items(session: str, offset: int, event: Mapping[str, Any]) -> Iterator[TranscriptItem]:
    """The message on a line, and what is left out of it."""
    kind = text_of(event.get("type"))
    message = event.get("message")
    if kind not in SPOKEN or not isinstance(message, Mapping):
        origin = "lines of the client's own" if kind in BOOKKEEPING else "lines of unknown"
        yield Omission(f"{origin} type {kind!r:.60}")
    elif event.get("isMeta"):
        yield Omission("notes of the client")
    elif event.get("isCompactSummary"):
        yield Omission("summaries of what was said before, made at compaction")
    else:
        yield from _spoken(event, message, session, offset)


def _spoken(
    event: Mapping[str, Any], message: Mapping[str, Any], session: str, offset: int
) -> Iterator[TranscriptItem]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    parts: list[str] = []
    for block in blocks:
        part = _part(block)
        if isinstance(part, Omission):
            yield part
        elif part:
            parts.append(part)
    if parts:
        yield _message(event, "\n".join(parts), session, offset)


def _part(block: object) -> str | Omission:
    """The text of a block, or why it is left out."""
    if not isinstance(block, Mapping):
        return Omission("blocks of unknown form")
    match block.get("type"):
        case "text":
            text = text_of(block.get("text"))
            return Omission("notes of the client") if text.startswith(_WRAPPERS) else text
        case "tool_use" | "server_tool_use":
            return call_line(block.get("name"), block.get("input"))
        case "tool_result" if block.get("is_error"):
            return f"[error] {shortened(_result_text(block.get('content')))}"
        case "tool_result":
            return Omission("results of tools")
        case "thinking" | "redacted_thinking":
            return Omission("thoughts of the model")
        case "image" | "document" as kind:
            return f"[{kind}]"
        case other:
            return Omission(f"blocks of unknown type {other!r:.60}")


def _result_text(content: object) -> str:
    if isinstance(content, list):
        return " ".join(text_of(part.get("text")) for part in content if isinstance(part, Mapping))
    return text_of(content)


def _message(event: Mapping[str, Any], text: str, file: str, offset: int) -> TranscriptMessage:
    session = name_of(event.get("sessionId")) or file
    agent = name_of(event.get("agentId"))
    source = f"claude-code/{session}"
    metadata = {"branch": branch} if (branch := name_of(event.get("gitBranch"))) else {}
    if event.get("isSidechain"):
        # Beside the conversation, not in it: its messages are no neighbours of the user's.
        source = f"{source}/{agent or 'sidechain'}"
        metadata["sidechain"] = agent or "sidechain"
    return TranscriptMessage(
        id=name_of(event.get("uuid")) or f"{session}:{offset}",
        source=source,
        text=text,
        role=text_of(event.get("type")),
        at=time_of(event.get("timestamp")),
        session=session,
        project=name_of(event.get("cwd")),
        metadata=metadata,
    )
