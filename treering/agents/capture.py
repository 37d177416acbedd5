"""Stores messages: new lines of a transcript, messages of an event, and past sessions."""

from __future__ import annotations

import json
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from treering.agents.clients import Client
from treering.agents.project import DEFAULT_SPACE, agent_space, is_own, switch_times
from treering.agents.replies import without_frames
from treering.errors import InputError, TreeringError
from treering.hooks.jobs import Offsets, job_messages
from treering.hooks.places import make_private, user_memory
from treering.ingest import exchange
from treering.ingest.transcripts.coding_agents import session_format_of
from treering.ingest.transcripts.contract import TranscriptMessage
from treering.ingest.transcripts.importing import TranscriptLines, new_lines
from treering.journal import entries, writing
from treering.memory import Memory, memory_parts
from treering.records import Progress, Receipt, Skipped

BATCH = 64
"""Messages in one import: a prompt waits for one import at most."""


def take_in(memory: Memory, job: Mapping[str, Any], offsets: Offsets) -> Receipt:
    """Store the messages of a job. Raise TreeringError, OSError."""
    if not job.get("transcript"):
        ids = _import(memory, list(TranscriptLines(job_messages(job))), job)
        masked, private = job.get("hidden", (0, 0))
        return Receipt(tuple(ids), masked=masked, private=private)
    transcript = Path(str(job["transcript"]))
    if not transcript.is_file():
        return Receipt()  # a session without messages, or one that its client has removed
    new = new_lines(transcript, offsets.position(transcript))
    ids = _import(memory, list(new.lines[1:]), job)
    offsets.set(transcript, new.offset, job)  # after it is durable: a failure is tried again
    return Receipt(tuple(ids), masked=new.hidden[0], private=new.hidden[1])


def note_replies(memory: Memory, ids: Collection[str], shown: Collection[str]) -> None:
    """Note the entries that the model of new replies knew: ``forget`` then names the replies.

    These are the messages that it answers, and the entries that its session was ``shown``.
    """
    with memory_parts(memory).space.write() as writer:
        new = entries.by_seq(writer, entries.seqs_of(writer, writer.id, ids))
        turn: list[str] = []
        is_answered = False
        for entry in new.values():
            if entry.role == "assistant":
                writing.note_shown(writer, writer.id, [entry.id], {*shown, *turn})
            else:
                turn = [entry.id] if is_answered else [*turn, entry.id]
            is_answered = entry.role == "assistant"


def _import(memory: Memory, lines: list[str], job: Mapping[str, Any]) -> list[str]:
    """Import lines of entries without recalled text, and without what was said with hooks off."""
    switches = cache(switch_times)

    def was_off(entry: Mapping[str, Any]) -> bool:
        at = datetime.fromisoformat(entry["at"]).timestamp() if entry.get("at") else float("inf")
        folders = filter(None, (job.get("folder"), entry.get("metadata", {}).get("cwd")))
        return any(bisect(switches(Path(folder)), at) % 2 for folder in folders)

    clean = []
    for entry in map(json.loads, lines):
        if "text" in entry:
            entry["text"] = without_frames(entry["text"])
            if not entry["text"].strip() or was_off(entry):
                continue
        clean.append(json.dumps(entry, ensure_ascii=False))
    ids: list[str] = []
    for start in range(0, len(clean), BATCH):
        part = clean[start : start + BATCH]
        ids += memory.import_([exchange.transcript_header(), *part]).ids
    return ids


def import_past_sessions(
    client: Client,
    memory: str,
    space: str | None = None,
    embedder: str | None = None,
    progress: Progress | None = None,
) -> tuple[Mapping[str, int], list[Skipped]]:
    """Import the sessions that a client has kept; return new messages by space, and other files.

    Each goes into the space of its project, or all into ``space``. Hooks continue from there.
    Raise InputError for a client whose sessions cannot be read, JournalError.
    """
    if not client.past:
        raise InputError(f"the past sessions of {client.title} are in no form that treering reads")
    by_space: dict[str, list[Path]] = defaultdict(list)
    skipped: list[Skipped] = []
    for path in sorted(client.sessions()):
        try:
            name = _session_space(path)
            by_space[space or name].append(path)
        except (TreeringError, OSError) as error:
            skipped.append(Skipped(str(path), str(error)))
    if by_space and is_own(memory):
        make_private(user_memory().parent)
    messages: Counter[str] = Counter()
    total, done = sum(map(len, by_space.values())), 0
    for name, sessions in by_space.items():
        with Memory.open(memory, space=name, embedder=embedder, llm="none") as opened:
            for path in sessions:
                job = {"client": client.name, "transcript": str(path)}
                messages[name] += take_in(opened, job | {"space": name}, Offsets(memory)).added
                done += 1
                if progress is not None:
                    progress(done, total)
    return messages, skipped


def _session_space(path: Path) -> str:
    """Return the space of a session's project, named by the path of its folder if that is gone."""
    form = session_format_of(path)
    if form is None:
        raise InputError("no transcript of Claude Code or Codex")
    items = form.read(path)
    folders = (item.project for item in items if isinstance(item, TranscriptMessage))
    folder = next(filter(None, folders), None)
    if folder is None:
        return DEFAULT_SPACE
    return agent_space(None, Path(folder)).name if Path(folder).is_dir() else folder
