"""What is new in transcripts: for hooks, which know how far they read, and for ``--watch``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from treering.errors import InputError
from treering.ingest import exchange
from treering.ingest.transcripts.contract import TranscriptItem
from treering.ingest.transcripts.importing import ImportOptions, TranscriptLines
from treering.ingest.transcripts.jsonl import LineReader, lines_from
from treering.ingest.transcripts.registry import line_format_of


@dataclass(frozen=True, slots=True)
class NewLines:
    """What a transcript holds from an offset on.

    ``lines`` is for ``Memory.import_``, empty if there is no new message; ``offset`` in bytes is
    where to go on; ``omitted`` counts what is no message, by reason; ``masked`` the secrets and
    ``private`` the passages that were taken out.
    """

    lines: tuple[str, ...]
    messages: int
    offset: int
    omitted: Counter[str]
    masked: int
    private: int


def new_lines(path: Path, offset: int = 0, options: ImportOptions | None = None) -> NewLines:
    """The messages that a client has appended to a transcript since ``offset``.

    A line that is still being written is left for the next time, and a file that has become
    shorter is read from its start; messages that the memory has are left alone by it. Only
    formats that grow line by line can be read so. Raises InputError for another file.
    """
    recognised = line_format_of(path)
    if recognised is None:
        raise InputError(f"{path} is no transcript of Claude Code or Codex")
    tail = _Tail(path, offset, recognised.line_reader(path))
    lines = TranscriptLines(tail, options or ImportOptions(), path)
    read = tuple(lines)
    header = (exchange.transcript_header(),) if read else ()
    cleaner = lines.cleaner
    return NewLines(
        (*header, *read),
        lines.messages,
        tail.offset,
        lines.omitted,
        cleaner.masked,
        cleaner.private,
    )


class _Tail:
    """The items of the lines from an offset on; ``offset`` then is behind the last one."""

    def __init__(self, path: Path, offset: int, reader: LineReader) -> None:
        self._path = path
        self._reader = reader
        self.offset = offset if offset <= path.stat().st_size else 0

    def __iter__(self) -> Iterator[TranscriptItem]:
        for start, line in lines_from(self._path, self.offset):
            if not line.endswith(b"\n"):
                return  # it is still being written
            yield from self._reader(start, line)
            self.offset = start + len(line)
