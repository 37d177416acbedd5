"""ChatGPT's data export: ``conversations.json``, a list of conversations, each a tree of messages.

A message that was edited or answered anew has several children. What was read last is the path
from ``current_node`` up to the root; the other branches are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.documents import below, objects, read_json
from treering.ingest.transcripts.jsonl import name_of, text_of, time_of

SPOKEN = frozenset({"text", "multimodal_text", "code"})
"""The types of content that a person or the model says; others are thoughts, results, quotes."""


class ChatGPTFormat:
    """Exports of ChatGPT."""

    name = "chatgpt"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """A list of objects with a ``mapping``."""
        return path.suffix == ".json" and head.lstrip()[:1] == "[" and '"mapping"' in head

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of all conversations."""
        for conversation in objects(read_json(path)):
            yield from _conversation(conversation)


def _conversation(conversation: Mapping[str, Any]) -> Iterator[TranscriptItem]:
    mapping = conversation.get("mapping")
    identity = name_of(conversation.get("conversation_id")) or name_of(conversation.get("id"))
    if not isinstance(mapping, Mapping) or identity is None:
        yield Omission("conversations of unknown form")
        return
    path = _path(mapping, conversation.get("current_node"))
    for node in path:
        message = below(mapping, node, "message")
        if isinstance(message, Mapping):
            yield _item(message, identity, name_of(conversation.get("title")) or identity)
    elsewhere = (below(mapping, node, "message") for node in mapping.keys() - set(path))
    yield from (Omission("messages of branches that were left") for other in elsewhere if other)


def _path(mapping: Mapping[str, Any], leaf: object) -> list[str]:
    """The nodes from the root to a leaf; of an export that names no leaf, all in their order."""
    if not isinstance(leaf, str) or leaf not in mapping:
        return list(mapping)
    path: dict[str, None] = {}
    node: object = leaf
    while isinstance(node, str) and node in mapping and node not in path:
        path[node] = None
        node = below(mapping, node, "parent")
    return list(path)[::-1]


def _item(message: Mapping[str, Any], conversation: str, title: str) -> TranscriptItem:
    role = text_of(below(message, "author", "role"))
    kind = text_of(below(message, "content", "content_type"))
    if role not in ("user", "assistant") or kind not in SPOKEN:
        return Omission(f"messages of role {role or None!r:.40} and type {kind or None!r:.60}")
    if below(message, "metadata", "is_visually_hidden_from_conversation"):
        return Omission("messages that the client does not show")
    parts = below(message, "content", "parts")
    texts = [_part(part) for part in parts] if isinstance(parts, list) else []
    text = "\n".join(filter(None, [*texts, text_of(below(message, "content", "text"))]))
    identity = name_of(message.get("id"))
    if not text.strip() or identity is None:
        return Omission("messages without text")
    return TranscriptMessage(
        id=identity,
        source=f"chatgpt/{conversation}",
        text=text,
        role=role,
        at=time_of(message.get("create_time")),
        session=conversation,
        metadata={"title": title},
    )


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    kind = text_of(below(part, "content_type"))
    return text_of(below(part, "text")) or (f"[{kind}]" if kind else "")
