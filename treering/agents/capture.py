"""Takes in what was said: the new lines of a transcript, or the messages that an event brought."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from treering.agents import hook_log, inbox
from treering.agents.files import read_record
from treering.agents.home import make_private
from treering.agents.replies import without_frames
from treering.agents.switches import off_periods
from treering.errors import InputError, UnknownName
from treering.files import replace_file
from treering.ingest import exchange
from treering.ingest.transcripts.contract import TranscriptMessage
from treering.ingest.transcripts.follow import new_lines
from treering.ingest.transcripts.importing import TranscriptLines
from treering.journal.fields import parse_time
from treering.memory import Memory

BATCH = 64
"""Messages taken in at a time: a prompt that comes meanwhile waits for no more."""


def take_in(memory: Memory, job: Mapping[str, Any], offsets: Offsets) -> int:
    """Take in what a job names; how many messages were new. Raises TreeringError, OSError."""
    if transcript := job.get("transcript"):
        return _follow(memory, Path(str(transcript)), job, offsets)
    return _import(memory, list(TranscriptLines(_messages(job))), job)


def _follow(memory: Memory, transcript: Path, job: Mapping[str, Any], offsets: Offsets) -> int:
    if not transcript.is_file():
        return 0  # a session in which nothing was said yet, or that its client has removed
    new = new_lines(transcript, offsets.of(transcript))
    count = _import(memory, list(new.lines[1:]), job)
    offsets.set(transcript, new.offset, job)  # after it is durable: a failure is tried again
    return count


def _import(memory: Memory, lines: list[str], job: Mapping[str, Any]) -> int:
    """Take in lines of entries: what is new, and was said while hooks were on."""
    off = off_periods(job.get("project")) if "project" in job else []
    clean = []
    for entry in map(json.loads, lines):
        if "text" in entry:
            entry["text"] = without_frames(entry["text"])
            if not entry["text"].strip() or _was_off(entry, off):
                continue
        clean.append(json.dumps(entry, ensure_ascii=False))
    count = 0
    for start in range(0, len(clean), BATCH):
        part = clean[start : start + BATCH]
        count += memory.import_([exchange.transcript_header(), *part]).added
    return count


def _was_off(entry: Mapping[str, Any], off: list[tuple[float, float]]) -> bool:
    at = entry.get("at")
    if not off or not isinstance(at, str):
        return False
    moment = datetime.fromisoformat(at).timestamp()
    return any(start <= moment < end for start, end in off)


def _messages(job: Mapping[str, Any]) -> Iterator[TranscriptMessage]:
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


@contextmanager
def removing_space(memory: str, space: str) -> Iterator[None]:
    """Around the removal of a space: remove what hooks keep of it, its name and waiting messages.

    A server that has just read these would bring the space back, so it has to wait, or is waited
    for.
    """
    path = str(Path(memory).resolve())
    with inbox.alone(path):
        try:
            yield
        except UnknownName:  # hooks alone may know the space: an earlier removal was killed
            _discard(path, space)
            raise
        _discard(path, space)


def _discard(memory: str, space: str) -> None:
    offsets = Offsets(memory)
    for _, job in inbox.waiting(memory):
        if job.get("space") == space and job.get("transcript"):
            offsets.pass_over(Path(job["transcript"]))
    offsets.discard(space)
    inbox.discard(memory, space)
    hook_log.discard(memory, space)


def drop_waiting(memory: str, space: str, entries: Collection[str]) -> None:
    """Remove messages from the inbox whose entries are being erased.

    They are there again if an event was sent twice, or if the server was killed.
    """
    for path, job in inbox.waiting(memory):
        if job.get("space") == space and job.get("messages"):
            said = zip(job["messages"], _messages(job), strict=True)
            kept = [message for message, parsed in said if _ids(parsed).isdisjoint(entries)]
            if len(kept) < len(job["messages"]):
                content = json.dumps(job | {"messages": kept}).encode() if kept else None
                replace_file(path, content, private=True)


def _ids(message: TranscriptMessage) -> set[str]:
    return {json.loads(line)["id"] for line in TranscriptLines([message])}


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
