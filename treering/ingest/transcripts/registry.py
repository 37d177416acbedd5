"""The formats of past conversations, and which of them a file has."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from treering import files
from treering.errors import UnknownName
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.chatgpt import ChatGPTFormat
from treering.ingest.transcripts.claude_ai import ClaudeAIFormat
from treering.ingest.transcripts.claude_code import ClaudeCodeFormat
from treering.ingest.transcripts.codex import CodexFormat
from treering.ingest.transcripts.contract import ORIGINS, TranscriptFormat
from treering.ingest.transcripts.jsonl import LineFormat
from treering.ingest.transcripts.mail import MailFormat
from treering.ingest.transcripts.slack import SlackFormat
from treering.ingest.transcripts.telegram import TelegramFormat
from treering.ingest.transcripts.whatsapp import WhatsAppFormat

HEAD_BYTES = 1 << 16
"""Of a file, to recognise it by. A conversation's first message may be long."""

MAX_LINE_BYTES = 1 << 24
"""Of a first line: a transcript may begin with a picture or all of its instructions."""

LINE_FORMATS: tuple[LineFormat, ...] = (ClaudeCodeFormat(), CodexFormat())
"""Those whose files grow while they are read."""

FORMATS: tuple[TranscriptFormat, ...] = (
    *LINE_FORMATS,
    ChatGPTFormat(),
    ClaudeAIFormat(),
    SlackFormat(),
    TelegramFormat(),
    WhatsAppFormat(),
    MailFormat(),
)


def format_named(name: str) -> TranscriptFormat:
    """A format by its name. Raises UnknownName."""
    for entry in FORMATS:
        if entry.name == name:
            return entry
    raise UnknownName(f"no format {name!r}; there are {', '.join(ORIGINS)}")


def format_of(
    path: TranscriptPath, formats: Iterable[TranscriptFormat] = FORMATS
) -> TranscriptFormat | None:
    """The format of a file or folder, by its name and beginning; None if it has none of these."""
    head = "" if path.is_dir() else head_of(path)
    return next((entry for entry in formats if entry.recognises(path, head)), None)


def line_format_of(path: Path) -> LineFormat | None:
    """The format of a file that grows line by line; None if it is no such file."""
    head = head_of(path)
    return next((entry for entry in LINE_FORMATS if entry.recognises(path, head)), None)


def head_of(path: TranscriptPath) -> str:
    """The beginning of a file, whatever its coding; at least its first line if that is not huge."""
    with files.open_file(path) as stream:
        head = stream.read(HEAD_BYTES)
        if b"\n" not in head:
            head += stream.readline(MAX_LINE_BYTES)
    return head.decode("utf-8", errors="replace")
