"""The place up to which each transcript has been read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from treering.files import replace_file
from treering.hooks import inbox
from treering.hooks.files import read_record
from treering.hooks.places import make_private


class Offsets:
    """How far each transcript has been read; one that is not noted is read from its start.

    ``behind`` are those that have grown since: a client that crashed, or has no event for the end
    of a session, says nothing more of them.
    """

    _KEPT = ("client", "space", "project", "session")

    def __init__(self, memory: str) -> None:
        self._path = inbox.folder_of(memory) / "offsets"
        self._positions: dict[str, dict[str, Any]] = read_record(self._path)

    def of(self, transcript: Path) -> int:
        """The byte from which on a transcript is new."""
        return int(self._positions.get(str(transcript), {}).get("offset", 0))

    def set(self, transcript: Path, offset: int, job: Mapping[str, Any]) -> None:
        """Note how far a transcript was read, and for whom; those that are gone are dropped."""
        entry = {key: job.get(key) for key in self._KEPT}
        make_private(self._path.parent)
        noted = read_record(self._path)
        self._positions = {path: of for path, of in noted.items() if Path(path).exists()}
        self._positions[str(transcript)] = entry | {"offset": offset}
        replace_file(self._path, json.dumps(self._positions).encode(), private=True)

    def discard(self, space: str) -> None:
        """Remove the name of a space. Its sessions may go on: only later messages are new."""
        for transcript, entry in self._positions.items():
            if entry["space"] == space:
                self.pass_over(Path(transcript))

    def pass_over(self, transcript: Path) -> None:
        """Note a transcript as read to its end, and for no space."""
        self.set(transcript, transcript.stat().st_size if transcript.exists() else 0, {})

    def behind(self) -> Iterator[dict[str, Any]]:
        """Jobs for the transcripts that are longer than was read of them."""
        for path, entry in self._positions.items():
            with suppress(OSError):  # it is gone
                if entry["space"] and Path(path).stat().st_size > entry["offset"]:
                    yield entry | {"event": "turn", "transcript": path}
