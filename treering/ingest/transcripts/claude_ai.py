"""claude.ai's data export: ``conversations.json``, a list of conversations with chat_messages."""

from __future__ import annotations

from collections.abc import Iterator

from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.json_files import begins_list, read_json
from treering.ingest.transcripts.values import (
    Fields,
    block_part,
    file_lines,
    join_lines,
    name_of,
    objects,
    text_and_omissions,
    text_of,
    time_of,
)

ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


class ClaudeAIFormat:
    """Exports of claude.ai."""

    name = "claude-ai"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """A list of objects with ``chat_messages``."""
        return begins_list(path, head, "chat_messages")

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of all conversations."""
        for conversation in objects(read_json(path)):
            for message in objects(conversation.get("chat_messages")):
                yield from _items(conversation, message)


def _items(conversation: Fields, message: Fields) -> Iterator[TranscriptItem]:
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
