"""What most tests start from: a new memory, with an embedder that needs no model."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.embedders import HashingEmbedder
from tests.examples import USUAL
from tests.postgres_server import empty_memory
from tests.skipped import pytest_unconfigure  # noqa: F401
from treering import Memory
from treering.embed.minilm import MiniLM
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

IN_MEMORY = Path("/dev/shm")
"""A file system in main memory, where the system has one."""

ROOM_IN_MEMORY = 4 * 2**30
"""Bytes: several times what the largest test writes."""

OF_FILES = frozenset({"path", "tmp_path"})
"""A test that asks for one of these by itself looks at a file."""


def pytest_configure() -> None:
    """Keep temporary files in main memory where there is room, unless the environment says where.

    A memory waits for the disk at every change, which is a third of the time that tests of it take.
    What a killed process wrote is there all the same: only a power cut would tell the two apart.
    """
    if "TMPDIR" not in os.environ and _room(IN_MEMORY) >= ROOM_IN_MEMORY:
        os.environ["TMPDIR"] = str(IN_MEMORY)
        tempfile.tempdir = None  # an import may have asked for the folder before
    # Tests start hundreds of processes. Where compiled modules may not be kept, each compiles
    # treering anew, which costs as much as the rest of its start, and each run all tests.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # Each client of HTTP reads the system's certificates, which takes longer than the tests that
    # make one. None leaves this machine: here is a folder that has no certificate.
    os.environ.setdefault("SSL_CERT_DIR", str(Path(__file__).parent))
    # A shell starts what runs in the background deaf to Ctrl-C, and programs inherit that: tests
    # that interrupt one would wait for it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection() -> None:
    gc.disable()  # nothing that is imported for tests is garbage, and to look takes two seconds


def pytest_collection_finish() -> None:
    """Leave what was imported out of all later collections of garbage."""
    gc.freeze()
    gc.enable()


def _room(folder: Path) -> int:
    """Bytes that this process may still write into a folder; none where it may not."""
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return 0
    return shutil.disk_usage(folder).free


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "life.db"


@pytest.fixture(scope="session")
def new_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory's file as opening makes it. A copy saves the test the making of the
    tables; that a file is made is tested by itself."""
    file = tmp_path_factory.mktemp("new") / "new.db"
    open_database(file).close()
    return file


@pytest.fixture(scope="session")
def bundled_model() -> MiniLM:
    """The bundled model, loaded once for all memories of this process that use it: to load it costs
    more than most tests."""
    model = MiniLM()
    model.embed(["loaded"])
    return model


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests that say so on both engines, but for those of files.

    A test says so where it runs statements, waits or locks that no other test runs on PostgreSQL,
    and one walk of every feature does. What is computed of the rows is the same Python on both.
    """
    marker = metafunc.definition.get_closest_marker("both_engines")
    if marker is None:
        return
    _ensure_there(metafunc.definition, marker.kwargs)
    asked = signature(metafunc.function).parameters
    if "engine" in metafunc.fixturenames and not OF_FILES & asked.keys():
        metafunc.parametrize("engine", ["sqlite", "postgres"], indirect=True)


def _ensure_there(item: pytest.Item, chosen: Mapping[str, Collection[object]]) -> None:
    """Raise UsageError for a value that a test is not given: it would never run on PostgreSQL."""
    given: dict[str, set[object]] = defaultdict(set)
    for mark in item.iter_markers("parametrize"):
        names = [mark.args[0]] if isinstance(mark.args[0], str) else mark.args[0]
        for values in mark.args[1]:
            row = [values] if len(names) == 1 else values
            for name, value in zip(names, row, strict=True):
                given[name].add(value)
    for name, values in chosen.items():
        if missing := set(values) - given[name]:
            raise pytest.UsageError(f"{item.nodeid}: both_engines names {name}={missing}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out, on PostgreSQL, the parameters that the marker does not name, where it names some:
    ``both_engines(name=("tree", "facts"))``."""
    items[:] = [item for item in items if not _is_of_sqlite_alone(item)]


def _is_of_sqlite_alone(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("both_engines")
    values = getattr(getattr(item, "callspec", None), "params", {})
    if marker is None or values.get("engine") != "postgres":
        return False
    return any(values[name] not in chosen for name, chosen in marker.kwargs.items())


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """The engine that ``open_memory`` opens memories with: SQLite, but for what has the marker
    ``both_engines``. CONTRIBUTING.md says which tests have it."""
    return str(getattr(request, "param", "sqlite"))


@pytest.fixture
def databases() -> Iterator[dict[Path, str]]:
    """What a path stands for on PostgreSQL: a memory of its own, unless something else is named."""
    with ExitStack() as stack:
        yield defaultdict(lambda: stack.enter_context(empty_memory()))


@pytest.fixture
def open_memory(
    path: Path, new_file: Path, engine: str, databases: dict[Path, str]
) -> Iterator[Open]:
    """Opens ``path``, or another file, with the hashing embedder; closes all at the end.

    On PostgreSQL every path stands for a database.
    """
    with ExitStack() as stack:

        def opened(url: str | Path = path, **options: Any) -> Memory:
            if engine == "postgres" and isinstance(url, Path):
                url = databases[url]
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
    for name in list(os.environ):
        if name.startswith(("TREERING_", "OPENAI_")):
            monkeypatch.delenv(name)
