"""A process that does everything a memory can do, at random, and says what was acknowledged.

``python -m tests.faults.worker FILE SEED FOLDER``. It prints one line for each token that an entry
holds: ``? TOKEN`` before what may add or take it away, ``+ TOKEN`` or ``- TOKEN`` after.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

from tests.embedders import HashingEmbedder
from treering import Memory
from treering.llm.scripted import FakeLLM
from treering.records import Entry

TOKEN = re.compile("token[0-9a-f]{20}")


def say(mark: str, *tokens: str) -> None:
    for token in tokens:
        print(mark, token, flush=True)


class Worker:
    def __init__(self, memory: Memory, rng: random.Random, folder: Path) -> None:
        self.memory = memory
        self.rng = rng
        self.folder = folder

    def token(self) -> str:
        return f"token{self.rng.getrandbits(80):020x}"

    def source(self) -> str:
        """A name that no text holds: it stays when a text is replaced."""
        return f"source {self.rng.getrandbits(60)}"

    def add(self) -> None:
        token = self.token()
        say("?", token)
        text = f"Ana keeps the {token} in Porto. " * self.rng.randrange(1, 60)
        self.memory.add(text, source=self.source())
        say("+", token)

    def add_messages(self) -> None:
        tokens = [self.token() for _ in range(4)]
        say("?", *tokens)
        said = [{"role": "user", "content": f"I saw the {token} today."} for token in tokens]
        self.memory.add(said, source=self.source())
        say("+", *tokens)

    def chat(self) -> None:
        token = self.token()
        say("?", token)
        self.memory.chat(f"Where is the {token}?", source=self.source())
        say("+", token)

    def replace(self) -> None:
        entry, new = self.some_entry(), self.token()
        old = TOKEN.findall(entry.text)[0]
        say("?", old, new)
        self.memory.replace(entry.id, f"It was the {new} after all.")
        say("-", old)
        say("+", new)

    def forget(self) -> None:
        entry = self.some_entry()
        tokens = set(TOKEN.findall(entry.text))
        say("?", *tokens)
        self.memory.forget(entry.id)
        say("-", *tokens)

    def export_and_import(self) -> None:
        elsewhere = self.folder / f"other {self.rng.getrandbits(60)}.db"
        with Memory.open(elsewhere, embedder=HashingEmbedder()) as other:
            token = self.token()
            other.add(f"The {token} came from elsewhere.", source=self.source())
            lines = list(other.export())
        say("?", token)
        self.memory.import_(lines)
        say("+", token)

    def index(self) -> None:
        root = self.folder / "project"
        root.mkdir(exist_ok=True)
        name = f"m{self.rng.randrange(5)}.py"
        (root / name).write_text(f"def f{self.rng.randrange(99)}():\n    return 1\n")
        self.memory.code.index(root)

    def settle(self) -> None:
        self.memory.settle()

    def rebuild(self) -> None:
        self.memory.rebuild()

    def grow(self) -> None:
        self.memory.tree.settle()

    def some_entry(self) -> Entry:
        held = [
            entry
            for entry in self.memory.entries()
            if entry.role != "assistant" and TOKEN.search(entry.text)
        ]
        if not held:
            self.add()
            return self.some_entry()
        return self.rng.choice(held)


def main() -> None:
    path, seed, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    llm = FakeLLM(lambda request: f"Reply to {len(request.messages)} messages.")
    say("!", "started")
    with Memory.open(path, embedder=HashingEmbedder(), llm=llm) as memory:
        worker = Worker(memory, random.Random(seed), folder)
        does: list[Callable[[], None]] = [
            *(worker.add, worker.add, worker.add_messages, worker.chat, worker.replace),
            *(worker.forget, worker.export_and_import, worker.index, worker.settle),
            *(worker.rebuild, worker.grow),
        ]
        while True:
            worker.rng.choice(does)()


if __name__ == "__main__":
    main()
