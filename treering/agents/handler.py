"""The work of the warm server at each event: it answers from open memories and stores messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treering.agents.project import SpaceChoice
from treering.agents.sessions import SessionsInView
from treering.errors import InputError, JournalBusy, JournalFull, ModelMismatch, TreeringError
from treering.hooks import hook_log, inbox

if TYPE_CHECKING:
    from treering.agents.recall import Recollection
    from treering.embed.minilm import MiniLM
    from treering.memory import Memory


REPORTED_S = 60.0
"""A failure that lasts less, such as that of a memory in use, needs no report."""


class HookHandler:
    """Answers the events of one memory's agents. All methods may be called from any thread."""

    def __init__(self, memory: str, embedder: str | None = None) -> None:
        self._path = Path(memory)
        self._embedder = embedder
        self._memories: dict[str, Memory] = {}
        self._retired: list[Memory] = []
        self._identity: tuple[int, int] | None = None
        self._model: MiniLM | None = None
        self._loading: threading.Thread | None = None
        self._opening = threading.Lock()
        self._storing = threading.Lock()
        self._sessions = SessionsInView(memory)
        self._errors: dict[str, bool] = {}  # whether a reply with it has reached a client

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to an event: a text for the model, and notes for the user."""
        began = time.monotonic()
        try:
            self._sessions.follow(request)
        except (InputError, OSError) as error:  # a full disk: the times in main memory are right
            self._report(request, str(error))
        if not request.get("asks"):
            return {}
        notes = [error for error, is_shown in self._errors.copy().items() if not is_shown]
        if request["event"] == "session-start":
            notes += self._waiting_notes()
        try:
            recalled = self._recall(request, notes)
        except Exception as error:  # the prompt goes on, and its user reads any error
            hook_log.note(self._record(request) | {"error": str(error)})
            return {"text": "", "notes": [*notes, str(error)]}
        hook_log.note(
            self._record(request)
            | {
                "entries": list(recalled.entries),
                "tokens": recalled.tokens,
                "why_nothing": recalled.why_nothing,
                "ms": round(1000 * (time.monotonic() - began)),
            }
        )
        return {"text": recalled.text, "notes": notes}

    def note_delivery(self, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Note that a reply has reached its client: its text and notes were seen."""
        self._sessions.note_put_in(request, str(reply.get("text") or ""))
        self._errors.update(dict.fromkeys(reply.get("notes") or (), True))

    def warm(self) -> None:
        """Load the bundled model, for all spaces, while other modules are imported."""
        if self._embedder is None:
            self._loading = threading.Thread(target=self._load, name="loading")
            self._loading.start()

    def take_in_waiting(self) -> None:
        """Store the messages of the jobs in the inbox. A job that fails stays there."""
        from treering.hooks.jobs import Offsets

        memory = str(self._path)
        with self._storing:
            inbox.sweep(memory)
            for path, job in inbox.waiting_jobs(memory):
                with inbox.alone(memory):
                    if path.exists() and not self._is_done(path, job):
                        break
            for job in Offsets(memory).behind():
                with suppress(TreeringError, OSError):  # its next event reports the failure
                    self._store(job)

    def close(self) -> None:
        """Close the memories."""
        with self._opening:
            for memory in (*self._memories.values(), *self._retired):
                memory.close()
            self._memories.clear()

    def _is_done(self, path: Path, job: dict[str, Any]) -> bool:
        """Store the messages of a job; return False if the other jobs would fail, too."""
        try:
            self._store(job)
        except Exception as error:  # the next job does not wait for any error
            age = inbox.age_s(path)
            if age > inbox.KEEP_S:
                path.unlink(missing_ok=True)
                self._report(job, f"messages that waited for 30 days were removed ({error})")
            elif age > REPORTED_S:
                self._report(job, f"messages could not be stored ({error})")
            return not isinstance(error, JournalBusy | JournalFull)
        path.unlink(missing_ok=True)
        return True

    def _store(self, job: Mapping[str, Any]) -> None:
        from treering.agents.capture import note_replies, take_in
        from treering.hooks.jobs import Offsets

        if "space" not in job:
            raise TreeringError("a file in the inbox is damaged")
        memory, record = self._memory(str(job["space"])), self._record(job)
        new = take_in(memory, job, Offsets(str(self._path)))
        if new.ids:
            shown = hook_log.entries_shown(record["memory"], job.get("session"))
            note_replies(memory, new.ids, shown)
        if new.ids or new.private:
            counts = {"taken_in": new.added, "masked": new.masked, "private": new.private}
            hook_log.note(record | counts)

    def _report(self, request: Mapping[str, Any], error: str) -> None:
        """Log an error, once, and keep it for the next reply."""
        if error not in self._errors:
            self._errors[error] = False
            hook_log.note(self._record(request) | {"error": error})

    def _waiting_notes(self) -> list[str]:
        """Say since when messages could not be stored, if that lasts."""
        jobs = [path for path, _ in inbox.waiting_jobs(str(self._path))]
        if not jobs or inbox.age_s(jobs[0]) < REPORTED_S:
            return []
        since = datetime.fromtimestamp(time.time() - inbox.age_s(jobs[0]), UTC)
        where = f"see `treering hook log` and {jobs[0]}"
        return [f"messages wait to be stored since {since:%Y-%m-%d}; {where}"]

    def _recall(self, request: Mapping[str, Any], notes: list[str]) -> Recollection:
        """Return what matters to an event; add a note for the user if the project's space moved."""
        from treering.agents import recall

        if not self._path.is_file():
            return recall.Recollection(why_nothing="there is no memory yet")
        if request["event"] == "session-start" and request.get("source") == "resume":
            return recall.Recollection(why_nothing="the conversation has its brief")
        spaces = [str(request["space"]), *request.get("also", ())]
        there = self._memory(spaces[0]).spaces()
        if request["event"] == "session-start":
            hint = SpaceChoice(*request.get("chosen", ("", ""))).moving_hint(str(self._path), there)
            notes += [hint] if hint else []
        memories = [self._memory(space) for space in spaces if space in there]
        if not memories:
            return recall.Recollection(why_nothing="nothing is stored of this project yet")
        if request["event"] == "session-start":
            return recall.project_brief(memories)
        in_view, put_in = self._sessions.in_view(request), self._sessions.put_in(request)
        return recall.relevant_lines(memories, str(request["prompt"]), in_view, put_in)

    def _record(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an event that its record in the log has."""
        fields = {key: request.get(key) for key in ("event", "client", "space", "session")}
        return fields | {"memory": str(self._path.resolve())}

    # ------------------------------------------------------------------ memories

    def _memory(self, space: str) -> Memory:
        """Return the open memory of a space; open it again if another file has taken its place."""
        from treering.hooks.places import make_private, user_memory

        with self._opening:
            if self._identity != self._file_identity():
                # Another thread may use them: they are closed at the end.
                self._retired += self._memories.values()
                self._memories.clear()
            if space not in self._memories:
                if self._path == user_memory():
                    make_private(self._path.parent)
                self._memories[space] = self._open(space)
                self._identity = self._file_identity()
            return self._memories[space]

    def _open(self, space: str) -> Memory:
        """Open a space without a language model: a hook makes no calls that cost money."""
        from treering.memory import Memory

        if self._loading is not None:
            self._loading.join()
        if self._model is not None:
            with suppress(ModelMismatch):  # a space that was built with another one
                return Memory.open(self._path, space=space, embedder=self._model, llm="none")
        return Memory.open(self._path, space=space, embedder=self._embedder, llm="none")

    def _load(self) -> None:
        from treering.embed.minilm import MiniLM

        model = MiniLM()
        model.embed(["warm"], query=True)
        self._model = model

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino
