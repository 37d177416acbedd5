"""An agent's past sessions, each taken into the space of the project it was about."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from treering.agents.capture import take_in
from treering.agents.clients import Client
from treering.agents.home import DEFAULT_SPACE, agent_space, is_own
from treering.errors import InputError, TreeringError
from treering.hooks.offsets import Offsets
from treering.hooks.places import make_private, user_memory
from treering.ingest.transcripts.contract import TranscriptMessage
from treering.ingest.transcripts.registry import line_format_of
from treering.memory import Memory
from treering.records import Progress, Skipped


@dataclass(frozen=True, slots=True)
class PastSessions:
    """What was taken in: messages by space, and files that were not."""

    messages: Mapping[str, int]
    skipped: tuple[Skipped, ...]


def take_in_past(
    client: Client,
    memory: str,
    space: str | None = None,
    embedder: str | None = None,
    progress: Progress | None = None,
) -> PastSessions:
    """Take in all sessions that a client has kept; again only what is new.

    Each goes into the space of its project, or all into ``space``. Hooks go on from there. Raises
    InputError for a client whose sessions cannot be read, JournalError.
    """
    if client.sessions is None:
        raise InputError(f"the past sessions of {client.title} are in no form that treering reads")
    by_space, skipped = _sorted(client.sessions(), space)
    total = sum(map(len, by_space.values()))
    if total and is_own(memory):
        make_private(user_memory().parent)
    messages: Counter[str] = Counter()
    done = 0
    for name, paths in by_space.items():
        with Memory.open(memory, space=name, embedder=embedder, llm="none") as opened:
            for path in paths:
                job = {"client": client.name, "transcript": str(path), "space": name}
                messages[name] += take_in(opened, job, Offsets(memory))
                done += 1
                if progress is not None:
                    progress(done, total)
    return PastSessions(messages, tuple(skipped))


def _sorted(
    paths: Iterable[Path], space: str | None
) -> tuple[dict[str, list[Path]], list[Skipped]]:
    """Group sessions by space; also return files that are not sessions."""
    by_space: dict[str, list[Path]] = defaultdict(list)
    skipped: list[Skipped] = []
    for path in sorted(paths):
        try:
            by_space[space or _session_space(path)].append(path)
        except (TreeringError, OSError) as error:
            skipped.append(Skipped(str(path), str(error)))
    return by_space, skipped


def _session_space(path: Path) -> str:
    """Return the space of the project that a session was about.

    If the session's folder is gone, its project is unknown, and its path names the space.
    """
    form = line_format_of(path)
    if form is None:
        raise InputError("no transcript of Claude Code or Codex")
    items = form.read(path)
    folders = (item.project for item in items if isinstance(item, TranscriptMessage))
    folder = next(filter(None, folders), None)
    if folder is None:
        return DEFAULT_SPACE
    return agent_space(None, Path(folder)).name if Path(folder).is_dir() else folder
