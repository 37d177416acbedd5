"""The formats of past conversations, treering's own and those of other packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints
from typing import Final, Protocol

from treering import files
from treering.ingest.transcripts.archive import TranscriptPath
from treering.plugins import plugins
from treering.records import JSON

READERS = {
    "claude-code": "coding_agents:ClaudeCodeFormat",
    "codex": "coding_agents:CodexFormat",
    "chatgpt": "chat_clients:ChatGPTFormat",
    "claude-ai": "chat_clients:ClaudeAIFormat",
    "slack": "slack:SlackFormat",
    "telegram": "telegram:TelegramFormat",
    "whatsapp": "whatsapp:WhatsAppFormat",
    "mail": "mail:MailFormat",
}
"""Classes of the formats by name, in the order of recognition."""

GROUP: Final = "treering.transcripts"
"""The entry point group. An entry point is called without arguments and gives a format."""

OWN: Final = EntryPoints(
    EntryPoint(name, f"treering.ingest.transcripts.{reader}", GROUP)
    for name, reader in READERS.items()
)
"""Written here, so that they are found in a source tree that was never installed."""

HEAD_BYTES: Final = 1 << 16
"""Of a file, to recognise it by. A conversation's first message may be long."""

MAX_LINE_BYTES: Final = 1 << 24
"""Of a first line: a transcript may begin with a picture or all of its instructions."""


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


def formats() -> tuple[TranscriptFormat, ...]:
    """All formats, in the order in which a file is compared with them: treering's own first."""
    return _load((*OWN, *plugins(GROUP)))


@lru_cache(maxsize=2)
def _load(points: tuple[EntryPoint, ...]) -> tuple[TranscriptFormat, ...]:
    return tuple(point.load()() for point in points)


def format_of(
    path: TranscriptPath, among: Iterable[TranscriptFormat] | None = None
) -> TranscriptFormat | None:
    """The format of a file or folder, by its name and beginning; None if it matches none."""
    head = "" if path.is_dir() else head_of(path)
    among = formats() if among is None else among
    return next((entry for entry in among if entry.recognises(path, head)), None)


def head_of(path: TranscriptPath) -> str:
    """The beginning of a file in any encoding; at least its first line if that is not huge."""
    with files.open_file(path) as stream:
        head = stream.read(HEAD_BYTES)
        if b"\n" not in head:
            head += stream.readline(MAX_LINE_BYTES)
    return head.decode("utf-8", errors="replace")
