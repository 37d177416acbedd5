"""WhatsApp's "Export chat": a text file, ``DATE, TIME - NAME: TEXT`` in the phone's own customs.

The order of day and month is not written down. It is told by the first number over twelve in the
file; without one, the day is taken to come first, as nearly everywhere. Times have no zone.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.documents import refuse_larger
from treering.split.stream import read_text

MAX_SPEAKER_CHARS = 100
_BEGINNING = re.compile(
    r"""\W?\[?
    (?P<a>\d{1,4})[./-](?P<b>\d{1,2})[./-](?P<c>\d{2,4}),?\s+
    (?:[a-z]{2,4}\s+)?                                    # "klo", "um"
    (?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?
    (?:\s?(?P<half>[ap])\.?\s?m\.?)?
    (?:\]\s?|\s-\s)
    (?P<rest>.*)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_SPEAKER = re.compile(rf"([^:]{{1,{MAX_SPEAKER_CHARS}}}): ?(.*)", re.DOTALL)
_MARKS = str.maketrans("", "", "\u200e\u200f\u202a\u202c\ufeff")
_NAME = re.compile(r"(?:whatsapp chat (?:with|mit|con|avec|-) ?)", re.IGNORECASE)
_MEDIA = re.compile(r"<[^<>]{4,40}>|\w+ omitted")


@dataclass(slots=True)
class WhatsAppLine:
    """A message as it begins in the file, and the lines that go on with it."""

    date: tuple[int, int, int]
    time: tuple[int, int, int]
    rest: str
    more: list[str] = field(default_factory=list)


class WhatsAppFormat:
    """Chats exported from WhatsApp."""

    name = "whatsapp"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """A text file whose first line begins a message."""
        first = next((line for line in head.translate(_MARKS).splitlines() if line.strip()), "")
        return path.suffix == ".txt" and _BEGINNING.fullmatch(first) is not None

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of a chat."""
        refuse_larger(path)
        lines = "".join(read_text(path)).translate(_MARKS).split("\n")
        messages = [_begun(line) or line for line in lines]
        day_first = _day_first([item.date for item in messages if isinstance(item, WhatsAppLine)])
        chat = _chat_name(path)
        seen: Counter[str] = Counter()
        for item in _joined(messages):
            if isinstance(item, Omission):
                yield item
            else:
                yield _message(item, chat, day_first, seen)


def _begun(line: str) -> WhatsAppLine | None:
    match = _BEGINNING.fullmatch(line.rstrip("\r"))
    if match is None:
        return None
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    date = (int(match["a"]), int(match["b"]), int(match["c"]))
    return WhatsAppLine(
        date, (hour, int(match["minute"]), int(match["second"] or 0)), match["rest"]
    )


def _joined(lines: list[WhatsAppLine | str]) -> Iterator[WhatsAppLine | Omission]:
    """Messages with the lines that belong to them."""
    last: WhatsAppLine | None = None
    for line in lines:
        if isinstance(line, WhatsAppLine):
            if last is not None:
                yield last
            last = line
        elif last is not None:
            last.more.append(line.rstrip("\r"))
        elif line.strip():
            yield Omission("lines before the first message")
    if last is not None:
        yield last


def _day_first(dates: list[tuple[int, int, int]]) -> bool:
    return not any(second > 12 for first, second, _ in dates if first <= 12)


def _at(line: WhatsAppLine, day_first: bool) -> datetime | None:
    a, b, c = line.date
    year, month, day = (a, b, c) if a > 31 else (c, b, a) if day_first else (c, a, b)
    with suppress(ValueError):  # such as the 31st of February: the text counts all the same
        return datetime(year + 2000 if year < 100 else year, month, day, *line.time, tzinfo=UTC)
    return None


def _message(line: WhatsAppLine, chat: str, day_first: bool, seen: Counter[str]) -> TranscriptItem:
    text = "\n".join([line.rest, *line.more]).strip()
    match = _SPEAKER.fullmatch(text)
    if match is None:
        return Omission("notices of the messenger")
    speaker, words = match[1].strip(), match[2].strip()
    if not words or not speaker or _MEDIA.fullmatch(words):
        return Omission("pictures, sounds and files without a text")
    # No message has an id: the n-th message alike in all it has is the same in a longer export.
    content = repr((chat, line.date, line.time, speaker, words))
    seen[content] += 1
    digest = hashlib.sha256(f"{seen[content]} {content}".encode()).hexdigest()
    at = _at(line, day_first)
    source = f"whatsapp/{chat}"
    return TranscriptMessage(id=digest, source=source, text=words, speaker=speaker, at=at)


def _chat_name(path: TranscriptPath) -> str:
    """Who the chat is with: in the file's name, or in the folder's where all are ``_chat.txt``."""
    stem = path.parent.name if path.stem == "_chat" else path.stem
    return _NAME.sub("", stem).strip() or "chat"
