"""What the warm server does at each event: answers from open memories, and takes in afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treering.agents import switches
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
        self._taking_in = threading.Lock()
        self._sessions = SessionsInView(memory)
        self._reported: set[str] = set()
        self._notes: list[str] = []

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to an event: a text to put in, and notes for the user."""
        began = time.monotonic()
        try:
            self._sessions.follow(request)
        except (InputError, OSError) as error:  # a full disk: what is in main memory serves
            self._notes.append(str(error))
        if not request.get("asks"):
            return {}
        notes, self._notes = self._notes, []
        try:
            recalled = self._recall(request)
        except Exception as error:  # whatever it is, the prompt goes on and its user is told
            hook_log.note(self._about(request) | {"error": str(error)})
            return {"text": "", "notes": [*notes, str(error)]}
        took = round(1000 * (time.monotonic() - began))
        hook_log.note(
            self._about(request)
            | {"entries": list(recalled.entries), "tokens": recalled.tokens, "ms": took}
        )
        return {"text": recalled.text, "notes": notes}

    def delivered(self, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Note that a reply has reached its client: its text is before the model from now on."""
        self._sessions.note_put_in(request, str(reply.get("text") or ""))

    def warm(self) -> None:
        """Load the bundled model, for all spaces, while the rest is imported."""
        if self._embedder is None:
            self._loading = threading.Thread(target=self._load, name="loading")
            self._loading.start()

    def take_in_waiting(self) -> None:
        """Take in the jobs of the inbox. One that fails stays there, and is tried again."""
        with self._taking_in:
            inbox.sweep(str(self._path))
            for path, job in inbox.waiting(str(self._path)):
                with inbox.alone(str(self._path)):
                    if path.exists() and not self._is_done(path, job):
                        break
            self._follow_known()

    def _is_done(self, path: Path, job: dict[str, Any]) -> bool:
        """Take in a job; whether the others need not fail for the same reason."""
        try:
            self._remember(job)
        except Exception as error:  # whatever it is, the next job does not wait for it
            self._failed(path, job, error)
            return not isinstance(error, JournalBusy | JournalFull)
        path.unlink(missing_ok=True)
        return True

    def close(self) -> None:
        """Close the memories."""
        with self._opening:
            for memory in (*self._memories.values(), *self._retired):
                memory.close()
            self._memories.clear()

    def _follow_known(self) -> None:
        """Take in what was added to transcripts of which nobody says anything more."""
        from treering.hooks.jobs import Offsets

        for job in Offsets(str(self._path)).behind():
            if switches.is_off(job.get("project")):
                continue
            with suppress(TreeringError, OSError):  # the next event of it tells what is wrong
                self._remember(job)

    def _remember(self, job: Mapping[str, Any]) -> None:
        from treering.agents.capture import take_in
        from treering.hooks.jobs import Offsets

        if "space" not in job:
            raise TreeringError("a file in the inbox is damaged")
        memory = self._memory(str(job["space"]))
        count = take_in(memory, job, Offsets(str(self._path)))
        if count:
            hook_log.note(self._about(job) | {"taken_in": count})

    def _failed(self, path: Path, job: dict[str, Any], error: Exception) -> None:
        """Report a failure that lasts, once; remove a job that is too old."""
        age = inbox.age_s(path)
        if age > inbox.KEEP_S:
            path.unlink(missing_ok=True)
            text = f"messages that waited for 30 days were removed ({error})"
        else:
            text = f"messages wait to be saved, for 30 days at most ({error}); see {path.parent}"
        if age > REPORTED_S and text not in self._reported:
            self._reported.add(text)
            hook_log.note(self._about(job) | {"error": text})
            self._notes.append(text)

    def _recall(self, request: Mapping[str, Any]) -> Recollection:
        from treering.agents import recall

        if not self._path.is_file():
            # Nothing was ever taken in, and nothing is made for a question.
            return recall.Recollection()
        if request["event"] == "session-start" and request.get("source") == "resume":
            return recall.Recollection()  # its brief is in the conversation that goes on
        spaces = [str(request["space"]), *filter(None, [request.get("beside")])]
        there = self._memory(spaces[0]).spaces()
        memories = [self._memory(space) for space in spaces if space in there]
        if not memories:
            return recall.Recollection()  # nothing was said in this project yet
        if request["event"] == "session-start":
            return recall.brief_of(memories)
        in_view, put_in = self._sessions.of(request), self._sessions.put_in(request)
        return recall.lines_for(memories, str(request["prompt"]), in_view, put_in)

    def _about(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an event that its record in the log has."""
        fields = {key: request.get(key) for key in ("event", "client", "space", "session")}
        return fields | {"memory": str(self._path.resolve())}

    # ------------------------------------------------------------------ memories

    def _memory(self, space: str) -> Memory:
        """The open memory of a space; opened anew where another file has taken its place."""
        from treering.hooks.places import make_private, user_memory

        with self._opening:
            if self._identity != self._on_disk():
                # Another thread may be at work on them: they are closed at the end.
                self._retired += self._memories.values()
                self._memories.clear()
            if space not in self._memories:
                if self._path == user_memory():
                    make_private(self._path.parent)
                self._memories[space] = self._open(space)
                self._identity = self._on_disk()
            return self._memories[space]

    def _open(self, space: str) -> Memory:
        """Without a language model: what a hook does costs nobody a call."""
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

    def _on_disk(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino
