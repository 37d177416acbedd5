"""Spaces that every view has something to say of, and a view of another package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.memo.talk import messages, place
from treering import Memory

PLUGIN = Path(__file__).parent / "plugin"
WRITTEN_BY_HAND = {"name": "Ana", "role": "user"}


@pytest.fixture
def shouting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package ``shouting``, installed."""
    monkeypatch.syspath_prepend(str(PLUGIN))
    yield
    sys.modules.pop("shouting", None)


@pytest.fixture
def full(shouting: None, open_memory: Open) -> Memory:
    """A space with rows in every view."""
    memory = open_memory(embedder=HashingEmbedder())
    fill(memory)
    return memory


def fill(memory: Memory) -> None:
    """Add what every view derives something of."""
    memory.add(messages())
    place(memory, "Ines in Porto", "Ines moved to Porto.", 0, 3)
    memory.add([WRITTEN_BY_HAND | {"content": "I live in Berlin.", "at": "2025-01-10"}], source="a")
    memory.add([WRITTEN_BY_HAND | {"content": "I moved to Porto.", "at": "2026-05-03"}], source="a")
    memory.add("parse() never retries when the server is BUSY.", source="talk", at="2026-01-01")
    memory.code.record(
        "Retry while the server is busy",
        before={"net.py": "def parse():\n    return 1\n"},
        after={"net.py": "def parse():\n    for attempt in range(3):\n        pass\n"},
    )
    memory.tree.draw()
    memory.settle()
