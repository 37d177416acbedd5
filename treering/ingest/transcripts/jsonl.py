"""Transcripts that a client appends to, a line of JSON at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol

from treering import files
from treering.errors import InputError
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import (
    Omission,
    TranscriptFormat,
    TranscriptItem,
    shortened,
)
from treering.journal.fields import parse_time

NOT_JSON = Omission("lines that are not JSON")
HEAD_LINES = 20

LineReader = Callable[[int, bytes], Iterator[TranscriptItem]]
"""From a line and its byte offset in the file to the message on it, and what is left out."""

EventReader = Callable[[int, dict[str, Any]], Iterator[TranscriptItem]]
"""The same of the object on a line."""


class LineFormat(TranscriptFormat, Protocol):
    """A format that can be read line by line, from any line on."""

    def line_reader(self, path: TranscriptPath) -> LineReader:
        """Reads single lines of the file at a path."""
        ...


def complete_lines(path: TranscriptPath, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from a byte offset on, each with its own offset.

    A last line without a line end is still being written and is left for the next time. A file
    that is shorter than the offset was begun anew, and is read from its start.
    """
    with files.open_file(path) as stream:
        if offset > path.stat().st_size:
            offset = 0
        stream.seek(offset)
        for line in stream:
            if not line.endswith(b"\n"):
                return
            yield offset, line
            offset += len(line)


def line_reader(items: EventReader) -> LineReader:
    """Reads lines by the objects on them; an empty line is nothing."""

    def read(offset: int, line: bytes) -> Iterator[TranscriptItem]:
        if not line.strip():
            return
        event = parsed(line)
        if event is None:
            yield NOT_JSON
        else:
            yield from items(offset, event)

    return read


def read_lines(path: TranscriptPath, items: LineReader) -> Iterator[TranscriptItem]:
    """What is on all lines of a file, also on a last one without a line end."""
    offset = 0
    with files.open_file(path) as stream:
        for line in stream:
            yield from items(offset, line)
            offset += len(line)


def parsed(line: bytes | str) -> dict[str, Any] | None:
    """The object on a line; None if it holds none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def head_objects(head: str) -> Iterator[dict[str, Any]]:
    """The objects on the first lines of a file, as far as they can be read."""
    for line in head.splitlines()[:HEAD_LINES]:
        if (value := parsed(line)) is not None:
            yield value


def text_of(value: object) -> str:
    """A field that should be a text; the empty text if it is something else."""
    return value if isinstance(value, str) else ""


def name_of(value: object) -> str | None:
    """A field that should be a name; None if it is something else or empty."""
    return value if isinstance(value, str) and value.strip() else None


def time_of(value: object) -> datetime | None:
    """A field that should be a time; None if it is something else."""
    with suppress(InputError):
        return parse_time(value, "time")
    return None


def call_line(name: object, arguments: object) -> str:
    """A tool's call on one short line: its name and the texts among its arguments."""
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    if isinstance(arguments, Mapping):
        shown = " ".join(f"{key}={value}" for key, value in arguments.items())
    else:
        shown = "" if arguments is None else str(arguments)
    return shortened(f"[{name_of(name) or 'tool'} {shown}".rstrip()) + "]"
