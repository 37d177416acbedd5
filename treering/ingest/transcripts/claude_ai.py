"""claude.ai's data export: ``conversations.json``, a list of conversations with chat_messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import (
    Omission,
    TranscriptItem,
    TranscriptMessage,
)
from treering.ingest.transcripts.documents import objects, read_json
from treering.ingest.transcripts.jsonl import call_line, name_of, text_of, time_of

ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


class ClaudeAIFormat:
    """Exports of claude.ai."""

    name = "claude-ai"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """A list of objects with ``chat_messages``."""
        return path.suffix == ".json" and head.lstrip()[:1] == "[" and '"chat_messages"' in head

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of all conversations."""
        for conversation in objects(read_json(path)):
            for message in objects(conversation.get("chat_messages")):
                yield from _items(conversation, message)


def _items(conversation: Mapping[str, Any], message: Mapping[str, Any]) -> Iterator[TranscriptItem]:
    role = ROLES.get(text_of(message.get("sender")))
    identity = name_of(message.get("uuid"))
    if role is None or identity is None:
        yield Omission(f"messages of sender {message.get('sender')!r:.60}")
        return
    parts: list[str] = []
    for block in objects(message.get("content")):
        part = _part(block)
        if isinstance(part, Omission):
            yield part
        elif part:
            parts.append(part)
    texts = parts or [text_of(message.get("text"))]
    texts += [f"[file: {name}]" for name in _files(message)]
    yield from (
        Omission("texts of attached files")
        for attachment in objects(message.get("attachments"))
        if attachment.get("extracted_content")
    )
    text = "\n".join(filter(None, texts))
    if not text.strip():
        yield Omission("messages without text")
        return
    yield _message(conversation, message, identity, role, text)


def _part(block: Mapping[str, Any]) -> str | Omission:
    match block.get("type"):
        case "text":
            return text_of(block.get("text"))
        case "tool_use":
            return call_line(block.get("name"), block.get("input"))
        case "tool_result":
            return Omission("results of tools")
        case "thinking":
            return Omission("thoughts of the model")
        case other:
            return Omission(f"blocks of unknown type {other!r:.60}")


def _files(message: Mapping[str, Any]) -> Iterator[str]:
    for field in ("attachments", "files"):
        for item in objects(message.get(field)):
            if name := name_of(item.get("file_name")):
                yield name


def _message(
    conversation: Mapping[str, Any],
    message: Mapping[str, Any],
    identity: str,
    role: str,
    text: str,
) -> TranscriptMessage:
    session = name_of(conversation.get("uuid")) or "conversation"
    title = name_of(conversation.get("name"))
    return TranscriptMessage(
        id=identity,
        source=f"claude-ai/{session}",
        text=text,
        role=role,
        at=time_of(message.get("created_at")),
        session=session,
        metadata={"title": title} if title else {},
    )
