"""The messages of waiting jobs, the positions in transcripts, and the erasure of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from treering.errors import InputError, UnknownName
from treering.files import replace_file
from treering.hooks import hook_log, inbox
from treering.hooks.places import make_private, read_record
from treering.ingest.transcripts.contract import TranscriptMessage
from treering.ingest.transcripts.importing import TranscriptLines
from treering.journal.fields import parse_time


def job_messages(job: Mapping[str, Any]) -> Iterator[TranscriptMessage]:
    """Iterate over the messages that an event brought."""
    client, session = str(job.get("client")), job.get("session")
    for message in job.get("messages") or ():
        turn = message.get("metadata", {}).get("turn")
        identity = json.dumps(
            [session, turn or message.get("at"), message["role"], message["content"]]
        )
        at = None
        with suppress(InputError):
            at = parse_time(message.get("at"), "at")
        yield TranscriptMessage(
            id=hashlib.sha256(identity.encode()).hexdigest(),
            source=f"{client}/{session or 'session'}",
            text=message["content"],
            role=message["role"],
            at=at,
            session=session if isinstance(session, str) else None,
        )


class Offsets:
    """How far each transcript has been read; one without a position is read from its start."""

    _KEPT = ("client", "space", "folder", "session")

    def __init__(self, memory: str) -> None:
        self._path = inbox.folder_of(memory) / "offsets"
        self._positions: dict[str, dict[str, Any]] = read_record(self._path)

    def position(self, transcript: Path) -> int:
        """Return the byte from which on a transcript is new."""
        return int(self._positions.get(str(transcript), {}).get("offset", 0))

    def set(self, transcript: Path, offset: int, job: Mapping[str, Any]) -> None:
        """Store how far a transcript was read, and for which space; drop removed transcripts."""
        entry = {key: job.get(key) for key in self._KEPT}
        make_private(self._path.parent)
        before = read_record(self._path)
        self._positions = {path: entry for path, entry in before.items() if Path(path).exists()}
        self._positions[str(transcript)] = entry | {"offset": offset}
        replace_file(self._path, json.dumps(self._positions).encode(), private=True)

    def discard(self, space: str) -> None:
        """Remove the name of a space; only later messages of its sessions are new."""
        for transcript, entry in self._positions.items():
            if entry["space"] == space:
                self.pass_over(Path(transcript))

    def pass_over(self, transcript: Path) -> None:
        """Mark a transcript as read to its end, for no space."""
        self.set(transcript, transcript.stat().st_size if transcript.exists() else 0, {})

    def behind(self) -> Iterator[dict[str, Any]]:
        """Iterate over jobs for transcripts that have grown without an event of their client."""
        for path, entry in self._positions.items():
            with suppress(OSError):  # it is gone
                if entry["space"] and Path(path).stat().st_size > entry["offset"]:
                    yield entry | {"event": "turn", "transcript": path}


@contextmanager
def removing_space(memory: str, space: str) -> Iterator[None]:
    """Around the removal of a space: remove what hooks keep of it, its name and waiting messages.

    A server that has just read these would bring the space back, so it has to wait, or is waited
    for. Raise InputError, before the removal, if what hooks keep cannot be read.
    """
    path = str(Path(memory).resolve())
    with inbox.alone(path):
        # They raise now, rather than after the removal.
        Offsets(path)
        list(inbox.waiting_jobs(path))
        try:
            yield
        except UnknownName:  # hooks alone may know the space: an earlier removal was killed
            _discard(path, space)
            raise
        _discard(path, space)


def _discard(memory: str, space: str) -> None:
    offsets = Offsets(memory)
    for _, job in inbox.waiting_jobs(memory):
        if job.get("space") == space and job.get("transcript"):
            offsets.pass_over(Path(job["transcript"]))
    offsets.discard(space)
    inbox.discard(memory, space)
    hook_log.discard(memory, space)


def drop_waiting(memory: str, space: str, entries: Collection[str]) -> None:
    """Remove messages from the inbox whose entries are being erased.

    They are there again if an event was sent twice, or if the server was killed.
    """
    for path, job in inbox.waiting_jobs(memory):
        if job.get("space") == space and job.get("messages"):
            pairs = zip(job["messages"], job_messages(job), strict=True)
            left = [message for message, parsed in pairs if _ids(parsed).isdisjoint(entries)]
            if len(left) < len(job["messages"]):
                content = json.dumps(job | {"messages": left}).encode() if left else None
                replace_file(path, content, private=True)


def _ids(message: TranscriptMessage) -> set[str]:
    return {json.loads(line)["id"] for line in TranscriptLines([message])}
