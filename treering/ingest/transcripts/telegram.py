"""Telegram Desktop's export as JSON: ``result.json``, of one chat or of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.documents import below, objects, read_json
from treering.ingest.transcripts.jsonl import name_of, text_of, time_of


class TelegramFormat:
    """Exports of Telegram Desktop."""

    name = "telegram"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """An object with the client's keys: a chat with messages, or a list of chats."""
        if path.suffix != ".json" or head.lstrip()[:1] != "{":
            return False
        return ('"messages"' in head and '"type"' in head and '"date_unixtime"' in head) or (
            '"chats"' in head and '"list"' in head
        )

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of all chats."""
        export = read_json(path)
        chats = objects(below(export, "chats", "list")) or objects([export])
        chats += objects(below(export, "left_chats", "list"))
        for chat in chats:
            for message in objects(chat.get("messages")):
                yield _item(chat, message)


def _item(chat: Mapping[str, Any], message: Mapping[str, Any]) -> TranscriptItem:
    if message.get("type") != "message":
        return Omission("notices of the messenger")
    text = _text(message.get("text")).strip()
    if not text:
        return Omission("pictures, sounds and files without a text")
    identity = f"{chat.get('id')}:{message.get('id')}"
    name = name_of(chat.get("name")) or text_of(chat.get("type")) or str(chat.get("id"))
    return TranscriptMessage(
        id=identity,
        source=f"telegram/{name}",
        text=text,
        speaker=name_of(message.get("from")) or name_of(message.get("from_id")),
        at=_time(message),
    )


def _text(text: object) -> str:
    """A text, or a list of texts and of objects with a text: links, bold words, mentions."""
    if isinstance(text, list):
        return "".join(_text(part) for part in text)
    return text_of(text if isinstance(text, str) else below(text, "text"))


def _time(message: Mapping[str, Any]) -> datetime | None:
    stamp = text_of(message.get("date_unixtime"))
    # As a float, of which no number of digits is too many.
    return time_of(float(stamp) if stamp.isdecimal() else message.get("date"))
