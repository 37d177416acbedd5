"""What the warm server does at each event: answers from open memories, and takes in afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treering.agents import hook_log, inbox, switches
from treering.agents.sessions import SessionsInView
from treering.errors import InputError, ModelMismatch, TreeringError

if TYPE_CHECKING:
    from treering.agents.recall import Recollection
    from treering.embed.minilm import MiniLM
    from treering.memory import Memory

TRIES = 3
"""After which a job that fails is put aside, and said."""


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
        self._tries: dict[Path, int] = {}
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
            hook_log.note(_about(request) | {"error": str(error)})
            return {"text": "", "notes": [*notes, str(error)]}
        took = round(1000 * (time.monotonic() - began))
        hook_log.note(
            _about(request)
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
        """Take in what waits in the inbox. What fails is tried again later, then put aside."""
        with self._taking_in:
            for path, job in inbox.waiting(str(self._path)):
                self._take_in(path, job)
            self._follow_known()

    def close(self) -> None:
        """Close the memories."""
        with self._opening:
            for memory in (*self._memories.values(), *self._retired):
                memory.close()
            self._memories.clear()

    def _take_in(self, path: Path, job: dict[str, Any] | None) -> None:
        try:
            if job is None:
                raise TreeringError(f"{path.name} in the inbox is damaged")
            self._remember(job)
        except Exception as error:  # whatever it is, the next job does not wait for it
            self._failed(path, job or {}, error)
            return
        path.unlink(missing_ok=True)

    def _follow_known(self) -> None:
        """Take in what was added to transcripts of which nobody says anything more."""
        from treering.agents.capture import Offsets

        for job in Offsets(str(self._path)).behind():
            if switches.is_off(job.get("project")):
                continue
            with suppress(TreeringError, OSError):  # the next event of it tells what is wrong
                self._remember(job)

    def _remember(self, job: Mapping[str, Any]) -> None:
        from treering.agents.capture import Offsets, take_in

        memory = self._memory(str(job["space"]))
        count = take_in(memory, job, Offsets(str(self._path)))
        if count:
            hook_log.note(_about(job) | {"taken_in": count})

    def _failed(self, path: Path, job: dict[str, Any], error: Exception) -> None:
        self._tries[path] = self._tries.get(path, 0) + 1
        if self._tries[path] < TRIES:
            return
        aside = path.with_suffix(".failed")
        path.replace(aside)
        text = f"what was said could not be taken in ({error}); it waits in {aside}"
        hook_log.note(_about(job) | {"error": text})
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

    # ------------------------------------------------------------------ memories

    def _memory(self, space: str) -> Memory:
        """The open memory of a space; opened anew where another file has taken its place."""
        from treering.agents.home import make_private, user_memory

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


def _about(request: Mapping[str, Any]) -> dict[str, Any]:
    """What a record of the log says of the event it is about."""
    return {key: request.get(key) for key in ("event", "client", "space", "session")}
