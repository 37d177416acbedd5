"""The formats of past conversations, treering's own and those of other packages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Final

from treering import files
from treering.ingest.transcripts.archive import TranscriptPath
from treering.ingest.transcripts.contract import READERS, TranscriptFormat
from treering.ingest.transcripts.json_files import LineFormat
from treering.plugins import plugins

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


def line_format_of(path: Path) -> LineFormat | None:
    """The format of a file that grows line by line; None for other files."""
    found = format_of(path, [entry for entry in formats() if isinstance(entry, LineFormat)])
    return found if isinstance(found, LineFormat) else None


def head_of(path: TranscriptPath) -> str:
    """The beginning of a file in any encoding; at least its first line if that is not huge."""
    with files.open_file(path) as stream:
        head = stream.read(HEAD_BYTES)
        if b"\n" not in head:
            head += stream.readline(MAX_LINE_BYTES)
    return head.decode("utf-8", errors="replace")
