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
from datetime import UTC, datetime
from itertools import pairwise

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


class WhatsAppFormat:
    """Chats exported from WhatsApp."""

    name = "whatsapp"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """A text file whose first line begins a message."""
        first = next((line for line in head.translate(_MARKS).splitlines() if line.strip()), "")
        return path.suffix == ".txt" and _BEGINNING.fullmatch(first) is not None

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of a chat, each with the lines that go on with it."""
        refuse_larger(path)
        text = "".join(read_text(path)).translate(_MARKS)
        lines = [line.rstrip("\r") for line in text.split("\n")]
        begun = {n: match for n, line in enumerate(lines) if (match := _BEGINNING.fullmatch(line))}
        day_first = all(int(each["b"]) <= 12 for each in begun.values() if int(each["a"]) <= 12)
        for line in lines[: min(begun, default=len(lines))]:
            if line.strip():
                yield Omission("lines before the first message")
        seen: Counter[str] = Counter()
        for start, end in pairwise([*begun, len(lines)]):
            text = "\n".join([begun[start]["rest"], *lines[start + 1 : end]])
            yield _message(begun[start], text.strip(), _chat_name(path), day_first, seen)


def _message(
    begun: re.Match[str], text: str, chat: str, day_first: bool, seen: Counter[str]
) -> TranscriptItem:
    match = _SPEAKER.fullmatch(text)
    if match is None:
        return Omission("notices of the messenger")
    speaker, words = match[1].strip(), match[2].strip()
    if not words or not speaker or _MEDIA.fullmatch(words):
        return Omission("pictures, sounds and files without a text")
    hour = int(begun["hour"])
    if begun["half"]:
        hour = hour % 12 + (12 if begun["half"].lower() == "p" else 0)
    date = (int(begun["a"]), int(begun["b"]), int(begun["c"]))
    time = (hour, int(begun["minute"]), int(begun["second"] or 0))
    # No message has an id: the n-th message alike in all it has is the same in a longer export.
    content = repr((chat, date, time, speaker, words))
    seen[content] += 1
    digest = hashlib.sha256(f"{seen[content]} {content}".encode()).hexdigest()
    at = _at(date, time, day_first)
    source = f"whatsapp/{chat}"
    return TranscriptMessage(id=digest, source=source, text=words, speaker=speaker, at=at)


def _at(date: tuple[int, int, int], time: tuple[int, int, int], day_first: bool) -> datetime | None:
    a, b, c = date
    year, month, day = (a, b, c) if a > 31 else (c, b, a) if day_first else (c, a, b)
    with suppress(ValueError):  # such as the 31st of February: the text counts all the same
        return datetime(year + 2000 if year < 100 else year, month, day, *time, tzinfo=UTC)
    return None


def _chat_name(path: TranscriptPath) -> str:
    """Who the chat is with: in the file's name, or in the folder's where all are ``_chat.txt``."""
    stem = path.parent.name if path.stem == "_chat" else path.stem
    return _NAME.sub("", stem).strip() or "chat"
