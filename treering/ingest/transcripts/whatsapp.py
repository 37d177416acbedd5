"""WhatsApp's "Export chat": a text file, ``DATE, TIME - NAME: TEXT`` in the phone's own customs.

The file does not say whether the day or the month comes first. A number over twelve decides,
then the order of the messages; else the day comes first, as nearly everywhere. Times lack a zone.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise

from treering.ingest.transcripts.archive import TranscriptPath, folder_name
from treering.ingest.transcripts.contract import Omission, TranscriptItem, TranscriptMessage
from treering.ingest.transcripts.values import refuse_larger
from treering.split.stream import read_text

_HALF = (
    r"[ap]\.?\s?m\.?|[πμ]\.?\s?μ\.?|[صم]|[上下中]午|凌晨|[清早]晨|[早晚]上|午[前後]|오[전후]"
    r"|पूर्वाह्न|अपराह्न"
)
_AFTERNOON = ("p", "μ", "م", "下", "中", "晚", "午後", "오후", "अ")
_BEGINNING = re.compile(
    rf"""\W?\[?
    (?P<a>\d{{1,4}})[./\-年년]\s?(?P<b>\d{{1,2}})[./\-月월]\s?(?P<c>\d{{1,4}})[日일.]?[,،]?\s+
    (?:(?!{_HALF})[^\W\d_]{{1,4}}\.?\s+)?                  # "klo", "às", "um"
    (?:(?P<before>{_HALF})\s?)?
    (?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?
    (?:\s?(?P<after>{_HALF}))?(?:\]\s?|\s-\s|,\s)(?P<rest>.*)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_SPEAKER = re.compile(r"([^:]{1,100}): ?(.*)", re.DOTALL)
_MARKS = dict.fromkeys(
    map(ord, "\u061c\u200f\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069\ufeff")
)
_OF_APP = "\u200e"
"""An iPhone writes it before the app's own words, such as "image omitted" in any language."""
_APPENDED = re.compile(rf"{_OF_APP}<[^<>]*>\Z|\s<[^\W\d_][^<>=/\"]*\s[^<>=/\"]*>\Z")
"""An attachment, or that the text was edited."""
_FIRST_YEAR, _LAST_YEAR = 2009, 2100  # of WhatsApp; other calendars count other years
_NAME = re.compile(r"(?:whatsapp chat (?:with|mit|con|avec|-) ?)", re.IGNORECASE)
_MEDIA = re.compile(r"<[^<>]{4,40}>|\w+ omitted")
_HEAD_LINES = 50  # in which a person says something


class WhatsAppFormat:
    """Chats exported from WhatsApp."""

    name = "whatsapp"

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """A text file whose first line begins a message, and in which a person says something."""
        if path.suffix != ".txt":
            return False
        lines = head.translate(_MARKS).lstrip(f"{_OF_APP}\r\n ").split("\n")[:_HEAD_LINES]
        begun = [match and _SPEAKER.fullmatch(match["rest"]) for match in
                 map(_BEGINNING.fullmatch, lines)]  # fmt: skip
        return _BEGINNING.fullmatch(lines[0]) is not None and any(begun)

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages of a chat, each with the lines that go on with it."""
        refuse_larger(path)
        lines = "".join(read_text(path)).translate(_MARKS).replace("\r\n", "\n").split("\n")
        begun = {n: match for n, line in enumerate(lines) if (match := _BEGINNING.fullmatch(line))}
        day_first = _faults(begun.values(), True) <= _faults(begun.values(), False)
        # The name of the chat is the file's, or the folder's where all files are `_chat.txt`.
        shown = folder_name(path) if path.stem.startswith("_chat") else path.stem
        name = _NAME.sub("", shown).strip()
        seen: Counter[str] = Counter()
        for start, end in pairwise([*begun, len(lines)]):
            text = "\n".join([begun[start]["rest"], *lines[start + 1 : end]])
            yield _item(begun[start], text.strip(), name or "chat", day_first, seen)


def _date(begun: re.Match[str], day_first: bool) -> tuple[int, int, int]:
    """Return year, month and day, which may be no date."""
    a, b, c = (int(begun[part]) for part in "abc")
    year, month, day = (a, b, c) if a > 31 else (c, b, a) if day_first else (c, a, b)
    return year + 2000 * (year < 100), month, day


def _faults(begun: Iterable[re.Match[str]], day_first: bool) -> tuple[int, int]:
    """Count the months over twelve, then the messages before the one that they follow."""
    dates = [_date(each, day_first) for each in begun]
    return sum(month > 12 for _, month, _ in dates), sum(b < a for a, b in pairwise(dates))


def _item(
    begun: re.Match[str], text: str, chat: str, day_first: bool, seen: Counter[str]
) -> TranscriptItem:
    match = _SPEAKER.fullmatch(text)
    if match is None or not (speaker := match[1].strip()):
        return Omission("notices of the messenger")
    if match[2].startswith(_OF_APP):
        return Omission("notices of the messenger, pictures, sounds and files")
    words = _APPENDED.sub("", match[2]).replace(_OF_APP, "").strip()
    if _MEDIA.fullmatch(words):
        return Omission("pictures, sounds and files without a text")
    hour, minute, second = (int(begun[part] or 0) for part in ("hour", "minute", "second"))
    if half := begun["before"] or begun["after"]:
        hour = hour % 12 + 12 * half.casefold().startswith(_AFTERNOON)
    year, month, day = _date(begun, day_first)
    at = None
    with suppress(ValueError):  # the 31st of February: the text counts all the same
        if _FIRST_YEAR <= year <= _LAST_YEAR:
            at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    # No message has an id: the n-th message alike in all it has is the same in a longer export.
    shown_date = tuple(int(begun[part]) for part in "abc")
    content = repr((chat, shown_date, (hour, minute, second), speaker, words))
    seen[content] += 1
    digest = hashlib.sha256(f"{seen[content]} {content}".encode()).hexdigest()
    return TranscriptMessage(digest, f"whatsapp/{chat}", words, speaker=speaker, at=at)
