"""Exports of chat clients: ``conversations.json``, a list of conversations.

In ChatGPT's a conversation is a tree, as a message that was edited or answered again has several
children. The path from ``current_node`` up to the root was read last; the messages of other
branches are counted. In claude.ai's a conversation is a list, ``chat_messages``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.values import (
    Fields,
    below,
    block_part,
    file_lines,
    join_lines,
    name_of,
    objects,
    read_json,
    text_and_omissions,
    text_of,
    time_of,
)

ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
SPOKEN = frozenset({"text", "multimodal_text", "code"})
"""The types of content that a person or the model says; others are thoughts, results, quotes."""


class ChatGPTFormat:
    """Exports of ChatGPT."""

    name = "chatgpt"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """A list of objects with a ``mapping``."""
        return _begins_list(path, head, "mapping")

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of all conversations."""
        for conversation in objects(read_json(path)):
            identity = conversation.get("conversation_id") or conversation.get("id")
            nodes = conversation.get("mapping")
            if not isinstance(nodes, Mapping) or not name_of(identity):
                yield Omission("conversations of unknown form")
                continue
            path_read = _path(nodes, conversation.get("current_node"))
            for node in path_read:
                if message := below(nodes, node, "message"):
                    yield _chatgpt_item(message, str(identity), name_of(conversation.get("title")))
            for node in nodes.keys() - set(path_read):
                if below(nodes, node, "message"):
                    yield Omission("messages of branches that were left")


def _path(nodes: Mapping[str, Any], leaf: object) -> list[str]:
    """The nodes from the root to a leaf; if the export names no leaf, all in their order."""
    path: dict[str, None] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in path:
        path[leaf] = None
        leaf = below(nodes, leaf, "parent")
    return list(path)[::-1] or list(nodes)


def _chatgpt_item(message: object, conversation: str, title: str | None) -> TranscriptItem:
    role = text_of(below(message, "author", "role"))
    kind = text_of(below(message, "content", "content_type"))
    if role not in ("user", "assistant") or kind not in SPOKEN:
        return Omission(f"messages of role {role or None!r:.40} and type {kind or None!r:.60}")
    if below(message, "metadata", "is_visually_hidden_from_conversation"):
        return Omission("messages that the client does not show")
    identity, parts = name_of(below(message, "id")), below(message, "content", "parts")
    if identity is None:
        return Omission("messages without an id")
    texts = map(_part, parts if isinstance(parts, list) else ())
    return TranscriptMessage(
        id=identity,
        source=f"chatgpt/{conversation}",
        text=join_lines(*texts, text_of(below(message, "content", "text"))),
        role=role,
        at=time_of(below(message, "create_time")),
        session=conversation,
        metadata={"title": title or conversation},
    )


def _part(part: object) -> str:
    kind = text_of(below(part, "content_type"))
    return text_of(part) or text_of(below(part, "text")) or (f"[{kind}]" if kind else "")


class ClaudeAIFormat:
    """Exports of claude.ai."""

    name = "claude-ai"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """A list of objects with ``chat_messages``."""
        return _begins_list(path, head, "chat_messages")

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of all conversations."""
        for conversation in objects(read_json(path)):
            for message in objects(conversation.get("chat_messages")):
                yield from _claude_items(conversation, message)


def _claude_items(conversation: Fields, message: Fields) -> Iterator[TranscriptItem]:
    role = ROLES.get(text_of(message.get("sender")))
    identity = name_of(message.get("uuid"))
    if role is None or identity is None:
        yield Omission(f"messages of sender {message.get('sender')!r:.60}")
        return
    text, omitted = text_and_omissions(map(block_part, objects(message.get("content"))))
    yield from omitted
    attached = objects(message.get("attachments"))
    yield from (
        Omission("texts of attached files") for one in attached if one.get("extracted_content")
    )
    files = file_lines(attached, message.get("files"), key="file_name")
    session = name_of(conversation.get("uuid")) or "conversation"
    yield TranscriptMessage(
        id=identity,
        source=f"claude-ai/{session}",
        text=join_lines(text or text_of(message.get("text")), *files),
        role=role,
        at=time_of(message.get("created_at")),
        session=session,
        metadata={"title": name_of(conversation.get("name"))},
    )


def _begins_list(path: TranscriptPath, head: str, key: str) -> bool:
    """Whether a file is a JSON list of objects with a key."""
    return path.suffix == ".json" and head.lstrip()[:1] == "[" and f'"{key}"' in head
