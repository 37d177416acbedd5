"""The protocol of a format of past conversations: it recognises a file and reads its messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from treering.ingest.transcripts.archive import TranscriptPath
from treering.records import JSON

READERS = {
    "claude-code": "claude_code:ClaudeCodeFormat",
    "codex": "codex:CodexFormat",
    "chatgpt": "chatgpt:ChatGPTFormat",
    "claude-ai": "claude_ai:ClaudeAIFormat",
    "slack": "slack:SlackFormat",
    "telegram": "telegram:TelegramFormat",
    "whatsapp": "whatsapp:WhatsAppFormat",
    "mail": "mail:MailFormat",
}
"""Classes of the formats by name, in the order of recognition."""


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """One message of a past conversation.

    ``id`` is the message's own: the same message read again has the same one. ``source`` is the
    conversation as a memory names it, such as ``claude-code/SESSION``. ``project`` is the folder
    that was worked in, if the client noted one.
    """

    id: str
    source: str
    text: str
    role: str | None = None
    speaker: str | None = None
    at: datetime | None = None
    session: str | None = None
    project: str | None = None
    metadata: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Omission:
    """A part of a transcript that is not a message, and the reason to omit it. Omissions are
    counted."""

    reason: str


TranscriptItem = TranscriptMessage | Omission


class TranscriptFormat(Protocol):
    """One kind of file. Implementations hold no state."""

    @property
    def name(self) -> str:
        """The name of the format."""
        ...

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """Whether a file, or a folder (whose ``head`` is empty), is of this kind.

        ``head`` is the beginning of the file; it may end within a line.
        """
        ...

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The messages in order, and the omissions. Raises InputError for a broken file."""
        ...
