"""The backends that the contract's tests run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from treering.journal.contract import Database
from treering.journal.sqlite import SqliteDatabase

OpenDatabase = Callable[[], Database]
"""Opens the same database again, as another process would."""


@pytest.fixture(params=["sqlite"])
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenDatabase]:
    backends: dict[str, OpenDatabase] = {"sqlite": lambda: SqliteDatabase(tmp_path / "life.db")}
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(backends[request.param]()))


@pytest.fixture
def database(open_database: OpenDatabase) -> Database:
    return open_database()
