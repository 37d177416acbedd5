"""A process that does steps for projects: ``python -m tests.faults.performer MEMORY FOLDER …``.

Each project has its space. It reads a step a line, as JSON, and prints what came of it.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.cli.conftest import PLUGINS
from tests.faults.forgetter import quoting
from treering import Memory
from treering.agents import replies
from treering.agents.handler import HookHandler
from treering.agents.project import agent_space
from treering.errors import LLMError, TreeringError
from treering.hooks import inbox
from treering.llm.scripted import FakeLLM

EMBEDDER = "hashing"


class Performer:
    """Does the steps of one project; each is the name of a method."""

    def __init__(self, url: str, folder: Path, handler: HookHandler | None) -> None:
        self.url, self.folder, self.handler = url, folder, handler
        self.space = agent_space(None, folder).name
        llm = FakeLLM(quoting)
        self.memory = Memory.open(url, space=self.space, embedder=EMBEDDER, llm=llm)

    def add(self, content: list[dict[str, str]], source: str) -> None:
        self.memory.add(content, source=source)

    def sync(self, folder: str) -> None:
        self.memory.add(Path(folder), sync=True, force=True)

    def import_(self, path: str) -> None:
        self.memory.import_(Path(path))

    def restore(self, lines: list[str]) -> None:
        self.memory.import_(lines)

    def export(self) -> list[str]:
        return list(self.memory.export())

    def replace(self, entry: str, text: str) -> None:
        self.memory.replace(entry, text)

    def forget(self, ids: list[str]) -> None:
        self.memory.forget(*ids)

    def forget_space(self) -> None:
        self.memory.forget_space(self.space)

    def settle(self) -> None:
        with suppress(LLMError):  # the replies are not in the form asked for
            self.memory.tree.settle()
            self.memory.settle()

    def hook(self, client: str, payload: dict[str, Any], waits: bool) -> None:
        """Leave an event in the inbox, as a hook does, and take it in, as the warm server does."""
        job = replies.job(client, "turn", payload)
        inbox.leave(self.url, job | {"space": self.space})
        if self.handler and not waits:
            self.handler.take_in_waiting()

    def read(self, probe: str) -> dict[str, Any]:
        """Return what the project can get out of the memory, once no scrubbing is left to do."""
        found, entries = [], []
        if self.space in self.memory.spaces():
            if "scrub" in self.memory.stats().pending:  # of texts that were not forgotten, but
                self.settle()  # replaced
            found = [hit.text for hit in self.memory.search(probe)]
            entries = [(entry.id, entry.source, entry.text) for entry in self.memory.entries()]
        if self.handler:
            request = {"event": "prompt", "asks": True, "space": self.space, "prompt": probe}
            found.append(self.handler.answer(request)["text"])
        return {"entries": entries, "found": found}


def main() -> None:
    sys.path.insert(0, str(PLUGINS))
    url, *folders = sys.argv[1:]
    handler = None if "://" in url else HookHandler(url, EMBEDDER)
    performers = [Performer(url, Path(folder), handler) for folder in folders]
    for line in sys.stdin:
        step = json.loads(line)
        act = getattr(performers[step.pop("project")], step.pop("do"))
        try:
            reply = {"done": act(**step)}
        except TreeringError as error:
            reply = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
