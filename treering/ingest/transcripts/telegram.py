"""Telegram Desktop's export as JSON: ``result.json``, of one chat or of all."""

from __future__ import annotations

from collections.abc import Iterator

from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.values import (
    Fields,
    below,
    name_of,
    objects,
    read_json,
    text_of,
    time_of,
    unix_time,
)


class TelegramFormat:
    """Exports of Telegram Desktop."""

    name = "telegram"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """An object with the client's keys: a chat with messages, or a list of chats."""
        kinds = (('"messages"', '"type"', '"date_unixtime"'), ('"chats"', '"list"'))
        known = any(all(key in head for key in keys) for keys in kinds)
        return known and path.suffix == ".json" and head.lstrip()[:1] == "{"

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of all chats."""
        export = read_json(path)
        chats = objects(below(export, "chats", "list")) or objects([export])
        for chat in chats + objects(below(export, "left_chats", "list")):
            for message in objects(chat.get("messages")):
                yield _item(chat, message)


def _item(chat: Fields, message: Fields) -> TranscriptItem:
    if message.get("type") != "message":
        return Omission("notices of the messenger")
    name = name_of(chat.get("name")) or text_of(chat.get("type")) or str(chat.get("id"))
    return TranscriptMessage(
        id=f"{chat.get('id')}:{message.get('id')}",
        source=f"telegram/{name}",
        text=_text(message.get("text")).strip(),
        speaker=name_of(message.get("from")) or name_of(message.get("from_id")),
        at=unix_time(message.get("date_unixtime")) or time_of(message.get("date")),
    )


def _text(text: object) -> str:
    """A text, or a list of texts and of objects with a text: links, bold words, mentions."""
    if isinstance(text, list):
        return "".join(map(_text, text))
    return text_of(text if isinstance(text, str) else below(text, "text"))
