"""Transcripts in JSON: one document, or a line at a time, which a client appends."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from treering import files
from treering.errors import InputError
from treering.ingest.transcripts.archive import TranscriptPath, file_size
from treering.ingest.transcripts.contract import Omission, TranscriptItem, format_of, formats
from treering.ingest.transcripts.values import Fields

MAX_BYTES = 2 << 30
"""A document is held in memory as a whole, several times its size."""

MAX_VALUES = 50_000_000
"""Of a document. An empty list has three bytes in the file and 64 in memory."""


def refuse_larger(path: TranscriptPath) -> None:
    """Raise InputError for a file that is too large for memory."""
    size = file_size(path)
    if size > MAX_BYTES:
        raise InputError(f"{path} has {size:,} bytes; at most {MAX_BYTES:,} can be read at once")


def read_json(path: TranscriptPath) -> Any:
    """The value of a file of JSON. Raises InputError."""
    refuse_larger(path)
    content = files.read_bytes(path)
    # Each value but the first follows one of these; those within texts are counted too.
    values = sum(map(content.count, (b",", b"[", b"{")))
    if values > MAX_VALUES:
        raise InputError(
            f"{path} holds up to {values:,} values; at most {MAX_VALUES:,} can be read at once: "
            "export a shorter time, or in parts"
        )
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); is the export whole?") from error


def begins_list(path: TranscriptPath, head: str, key: str) -> bool:
    """Whether a file is a JSON list of objects with a key."""
    return path.suffix == ".json" and head.lstrip()[:1] == "[" and f'"{key}"' in head


HEAD_LINES = 20

LineReader = Callable[[int, bytes], Iterator[TranscriptItem]]
"""From a line and its byte offset in the file to its messages and omissions."""

EventReader = Callable[[int, Fields], Iterator[TranscriptItem]]
"""The same of the object on a line."""


class LineFormat(ABC):
    """A format that can be read line by line, from any line on."""

    name: str

    @abstractmethod
    def recognises_line(self, line: Fields) -> bool:
        """Whether one of the first lines of a file is of this format."""

    @abstractmethod
    def event_reader(self, path: TranscriptPath) -> EventReader:
        """Reads single events of the file at a path."""

    def recognises(self, path: TranscriptPath, head: str) -> bool:
        """Whether one of a file's first lines is of this format."""
        lines = map(parse_object, head.split("\n")[:HEAD_LINES] if path.suffix == ".jsonl" else ())
        return any(line is not None and self.recognises_line(line) for line in lines)

    def line_reader(self, path: TranscriptPath) -> LineReader:
        """Reads single lines of the file at a path; an empty line is nothing."""
        items = self.event_reader(path)

        def read(offset: int, line: bytes) -> Iterator[TranscriptItem]:
            if (event := parse_object(line)) is not None:
                yield from items(offset, event)
            elif line.strip():
                yield Omission("lines that are not JSON")

        return read

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """The items of all lines of a file, with a last one without a line end."""
        items = self.line_reader(path)
        for offset, line in lines_from(path):
            yield from items(offset, line)


def line_format_of(path: Path) -> LineFormat | None:
    """The format of a file that grows line by line; None for other files."""
    found = format_of(path, [entry for entry in formats() if isinstance(entry, LineFormat)])
    return found if isinstance(found, LineFormat) else None


def lines_from(path: TranscriptPath, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from a byte offset on, each with its own offset."""
    with files.open_file(path) as stream:
        if offset:
            stream.seek(offset)
        for line in stream:
            yield offset, line
            offset += len(line)


def parse_object(line: bytes | str) -> Fields | None:
    """The object on a line; None if it holds none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
