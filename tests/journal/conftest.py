"""The backends that the contract's tests run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.postgres_server import empty_memory
from treering.journal.contract import Database
from treering.journal.open import open_database as by_url

OpenDatabase = Callable[[], Database]
"""Opens the same database again, as another process would."""


@pytest.fixture(params=["sqlite", "postgres"])
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenDatabase]:
    with ExitStack() as stack:
        on_server = request.param == "postgres"
        url = stack.enter_context(empty_memory()) if on_server else tmp_path / "life.db"
        yield lambda: stack.enter_context(closing(by_url(url)))


@pytest.fixture
def database(open_database: OpenDatabase) -> Database:
    return open_database()
