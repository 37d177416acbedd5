"""Transcripts that a client appends to, a line of JSON at a time."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from treering import files
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import Omission, TranscriptItem
from treering.ingest.transcripts.values import Fields

HEAD_LINES = 20

LineReader = Callable[[int, bytes], Iterator[TranscriptItem]]
"""From a line and its byte offset in the file to the message on it, and what is left out."""

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
        lines = map(parsed, head.splitlines()[:HEAD_LINES] if path.suffix == ".jsonl" else ())
        return any(line is not None and self.recognises_line(line) for line in lines)

    def line_reader(self, path: TranscriptPath) -> LineReader:
        """Reads single lines of the file at a path; an empty line is nothing."""
        items = self.event_reader(path)

        def read(offset: int, line: bytes) -> Iterator[TranscriptItem]:
            if (event := parsed(line)) is not None:
                yield from items(offset, event)
            elif line.strip():
                yield Omission("lines that are not JSON")

        return read

    def read(self, path: TranscriptPath) -> Iterator[TranscriptItem]:
        """What is on all lines of a file, also on a last one without a line end."""
        items = self.line_reader(path)
        for offset, line in lines_from(path):
            yield from items(offset, line)


def lines_from(path: TranscriptPath, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from a byte offset on, each with its own offset."""
    with files.open_file(path) as stream:
        if offset:
            stream.seek(offset)
        for line in stream:
            yield offset, line
            offset += len(line)


def parsed(line: bytes | str) -> Fields | None:
    """The object on a line; None if it holds none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
