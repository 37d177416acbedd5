"""A server in this process, over a memory in a new file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.embedders import HashingEmbedder
from treering.journal.open import open_database
from treering.serve import keys
from treering.serve.app import create_app
from treering.serve.settings import ServerSettings

Serve = Callable[..., TestClient]
MakeKey = Callable[[str], str]


@contextmanager
def serving(path: str | Path, **options: Any) -> Iterator[TestClient]:
    """A client of a server with the hashing embedder, which stops with the block."""
    given: dict[str, Any] = {"url": path, "embedder": HashingEmbedder()} | options
    app = create_app(ServerSettings(**given))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def serve(path: Path, new_file: Path) -> Iterator[Serve]:
    """Starts servers that stop with the test."""
    shutil.copyfile(new_file, path)
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(serving(path, **options))


@pytest.fixture
def client(serve: Serve) -> TestClient:
    return serve()


@pytest.fixture
def make_key(path: Path) -> MakeKey:
    """Makes a key for a space, as ``treering serve key add`` does."""

    def made(space: str) -> str:
        database = open_database(path)
        try:
            return keys.add(database, space)[0]
        finally:
            database.close()

    return made


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
