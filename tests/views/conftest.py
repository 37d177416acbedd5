"""Spaces that every view has something to say of, and a view of another package."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedders import HashingEmbedder
from tests.memo.talk import messages, place
from tests.postgres_server import CAN_COPY, drop_database, new_database
from treering import Memory

PLUGIN = Path(__file__).parent / "plugin"
WRITTEN_BY_HAND = {"name": "Ana", "role": "user"}


@pytest.fixture
def shouting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package ``shouting``, installed."""
    monkeypatch.syspath_prepend(str(PLUGIN))
    yield
    sys.modules.pop("shouting", None)


@pytest.fixture(scope="session")
def full_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with rows in every view, for tests to copy: to fill it takes longer than most."""
    file = tmp_path_factory.mktemp("full") / "life.db"
    _fill_at(file)
    return file


@pytest.fixture(scope="session")
def full_database() -> str:
    """The same in a database of PostgreSQL."""
    url = new_database()
    _fill_at(url)
    return url


def _fill_at(url: str | Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLUGIN))
        with Memory.open(url, embedder=HashingEmbedder()) as memory:
            fill(memory)
    sys.modules.pop("shouting", None)


@pytest.fixture
def full_copy(full_database: str) -> Iterator[str]:
    url = new_database(full_database)
    yield url
    drop_database(url)


@pytest.fixture
def full(
    shouting: None,
    engine: str,
    path: Path,
    databases: dict[Path, str],
    request: pytest.FixtureRequest,
) -> Memory:
    """A space with rows in every view."""
    if engine == "sqlite":
        shutil.copyfile(request.getfixturevalue("full_file"), path)
    elif CAN_COPY:
        databases[path] = request.getfixturevalue("full_copy")
    # Opened after the copy was made, which goes when nobody has it open any more.
    memory: Memory = request.getfixturevalue("open_memory")()
    if engine == "postgres" and not CAN_COPY:
        fill(memory)
    return memory


def fill(memory: Memory) -> None:
    """Add what every view derives something of."""
    memory.add(messages())
    place(memory, "Ines in Porto", "Ines moved to Porto.", 0, 3)
    memory.add([WRITTEN_BY_HAND | {"content": "I live in Berlin.", "at": "2025-01-10"}], source="a")
    memory.add([WRITTEN_BY_HAND | {"content": "I live in Porto.", "at": "2026-05-03"}], source="a")
    memory.add("parse() never retries when the server is BUSY.", source="talk", at="2026-01-01")
    memory.code.record(
        "Retry while the server is busy",
        before={"net.py": "def parse():\n    return 1\n"},
        after={"net.py": "def parse():\n    for attempt in range(3):\n        pass\n"},
    )
    memory.tree.draw()
    memory.settle()
