"""Claude Code: one session a file, ``~/.claude/projects/PROJECT/SESSION.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator

from treering.ingest.transcripts import values
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.json_files import EventReader, LineFormat
from treering.ingest.transcripts.values import Fields, name_of, text_of

SPOKEN = frozenset({"user", "assistant"})
BOOKKEEPING = frozenset(
    (
        *("agent-name", "ai-title", "attachment", "custom-title", "file-history-snapshot"),
        *("last-prompt", "permission-mode", "pr-link", "progress", "queue-operation"),
        *("summary", "system", "tag", "worktree-state"),
    )
)
"""Types of lines that the client writes for itself."""

_OWN_KEYS = ("sessionId", "leafUuid", "parentUuid", "snapshot")
_WRAPPERS = ("<command-", "<local-command-", "<bash-", "<system-reminder>", "Caveat: The messages")
"""How texts begin that the client puts in the user's mouth."""


class ClaudeCodeFormat(LineFormat):
    """Transcripts of Claude Code."""

    name = "claude-code"

    def recognises_line(self, line: Fields) -> bool:
        """A known type and one of the client's own keys."""
        known = text_of(line.get("type")) in SPOKEN | BOOKKEEPING
        return known and any(key in line for key in _OWN_KEYS)

    def event_reader(self, path: TranscriptPath) -> EventReader:
        """Reads events of a session; each names its session itself."""
        return lambda offset, event: _items(path.stem, offset, event)


def _items(file: str, offset: int, event: Fields) -> Iterator[TranscriptItem]:
    kind, message = text_of(event.get("type")), event.get("message")
    if kind not in SPOKEN or not isinstance(message, dict):
        origin = "lines of the client's own" if kind in BOOKKEEPING else "lines of unknown"
        yield Omission(f"{origin} type {kind!r:.60}")
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
