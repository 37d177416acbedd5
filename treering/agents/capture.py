"""Takes in what was said: the new lines of a transcript, or the messages that an event brought."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from treering.agents.replies import without_frames
from treering.agents.switches import off_periods
from treering.hooks.jobs import job_messages
from treering.hooks.offsets import Offsets
from treering.ingest import exchange
from treering.ingest.transcripts.importing import TranscriptLines, new_lines
from treering.memory import Memory

BATCH = 64
"""Messages taken in at a time: a prompt that comes meanwhile waits for no more."""


def take_in(memory: Memory, job: Mapping[str, Any], offsets: Offsets) -> int:
    """Take in what a job names; how many messages were new. Raises TreeringError, OSError."""
    if transcript := job.get("transcript"):
        return _follow(memory, Path(str(transcript)), job, offsets)
    return _import(memory, list(TranscriptLines(job_messages(job))), job)


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
