"""What most tests start from: a memory in a new file, with an embedder that needs no model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.embedders import HashingEmbedder
from tests.examples import USUAL
from tests.skipped import pytest_unconfigure  # noqa: F401
from treering import Memory
from treering.journal.open import open_database

# Each example may open a file, on a machine that does other things too: no limit on its time.
settings.register_profile(
    "treering",
    deadline=None,
    max_examples=USUAL,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# Of `make quick`: enough to run every property, not to search for what breaks it.
settings.register_profile("quick", settings.get_profile("treering"), max_examples=5)
settings.load_profile("treering")

Open = Callable[..., Memory]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "life.db"


@pytest.fixture(scope="session")
def new_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory's file as opening makes it. A copy saves the test all the migrations, which cost
    five times what opening costs; that a file is made is tested by itself."""
    file = tmp_path_factory.mktemp("new") / "new.db"
    open_database(file).close()
    return file


@pytest.fixture
def open_memory(path: Path, new_file: Path) -> Iterator[Open]:
    """Opens ``path``, or another file, with the hashing embedder; closes all at the end."""
    with ExitStack() as stack:

        def opened(url: str | Path = path, **options: Any) -> Memory:
            # Where a log lies already, what opening says of that is tested.
            log = Path(f"{url}-wal")
            if (
                isinstance(url, Path)
                and url.parent.is_dir()
                and not url.exists()
                and not log.exists()
            ):
                shutil.copyfile(new_file, url)
            options = {"embedder": HashingEmbedder()} | options
            return stack.enter_context(Memory.open(url, **options))

        yield opened


@pytest.fixture
def memory(open_memory: Open) -> Memory:
    return open_memory()


@pytest.fixture
def no_llm(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that names no language model."""
    import os

    for name in list(os.environ):
        if name.startswith(("TREERING_", "OPENAI_")):
            monkeypatch.delenv(name)
