"""A process that adds, changes and forgets at random: ``python -m tests.faults.forgetter``.

Arguments: the file, a seed, and how many steps. It prints what it is about to do, and what it has
done, one JSON object a line.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from contextlib import suppress

from tests.embedders import HashingEmbedder
from treering import Memory
from treering.errors import LLMError
from treering.journal.entries import OWN_SOURCES
from treering.llm.scripted import FakeLLM, Request


def quoting(request: Request) -> str:
    """A reply in the words of what was asked, as a model's summary is."""
    return " ".join(request.text.split()[-40:])


def opened(path: str) -> Memory:
    return Memory.open(path, embedder=HashingEmbedder(), llm=FakeLLM(quoting))


class Life:
    """Random steps in a memory; ``say`` hears of them, ``texts`` is what its entries say, by id."""

    def __init__(self, memory: Memory, seed: int, say: Callable[..., None]) -> None:
        self._memory = memory
        self._say = say
        self._rng = random.Random(seed)
        self.texts: dict[str, str] = {}

    def step(self, number: int) -> None:
        steps = [self._add, self._add, self._forget, self._forget, self._forget_source]
        step = self._rng.choice([*steps, *steps, self._replace, self._settle, self._forget_space])
        if not self.texts:
            step = self._add
        step(number)

    def _text(self) -> str:
        words = [
            f"{self._rng.getrandbits(40):x}" for _ in range(self._rng.choice([2, 12, 60, 900]))
        ]
        town = f"{self._rng.getrandbits(120):X}"
        start = self._rng.choice(["", f"I live in {town}. I work as a {town.lower()}. "])
        return start + " ".join(words)

    def _add(self, number: int) -> None:
        texts = [self._text() for _ in range(self._rng.choice([1, 4, 20]))]
        turns = [{"role": "user", "name": "Ana", "content": text} for text in texts]
        source = f"{number}-{self._text()[:30]}"
        self._say(adding=[*texts, source])
        receipt = self._memory.add(turns, source=source)
        self.texts |= dict(zip(receipt.ids, texts, strict=True))
        self._say(added=texts)

    def _forget(self, _: int) -> None:
        ids = self._rng.sample(sorted(self.texts), min(len(self.texts), self._rng.choice([1, 3])))
        self._say(forgetting=[self.texts[entry] for entry in ids])
        receipt = self._memory.forget(*ids)
        self._say(forgotten=[self.texts.pop(entry) for entry in ids], scrubbed=receipt.scrubbed)

    def _forget_source(self, _: int) -> None:
        entry = self._memory.get(self._rng.choice(sorted(self.texts)))
        receipt = self._memory.forget(source=entry.source)
        gone = [self.texts.pop(identity) for identity in receipt.entries]
        self._say(forgotten=[*gone, entry.source], scrubbed=receipt.scrubbed)

    def _forget_space(self, _: int) -> None:
        self._say(forgetting=list(self.texts.values()))
        receipt = self._memory.forget_space("default")
        gone = [self.texts.pop(identity) for identity in sorted(self.texts)]
        named = [source for source in receipt.sources if not source.startswith(OWN_SOURCES)]
        self._say(forgotten=[*gone, *named], scrubbed=receipt.scrubbed)

    def _replace(self, _: int) -> None:
        identity, text = self._rng.choice(sorted(self.texts)), self._text()
        self._say(adding=[text])
        self._memory.replace(identity, text)
        self._say(replaced=[self.texts[identity]])
        self.texts[identity] = text

    def _settle(self, _: int) -> None:
        with suppress(LLMError):  # the replies are not what was asked for
            self._memory.settle()


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


def main() -> None:
    path, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with opened(path) as memory:
        life = Life(memory, seed, say)
        for number in range(steps):
            life.step(number)


if __name__ == "__main__":
    main()
