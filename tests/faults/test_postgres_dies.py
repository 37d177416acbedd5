"""PostgreSQL is killed, or has no room, in the midst of every kind of change: each is an error, and
done again it has lost nothing and doubled nothing."""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import psycopg
import pytest

from tests.embedders import HashingEmbedder, down
from tests.faults.test_processes import TIMEOUT_S
from tests.postgres_server import PostgresServer, new_schema
from treering import Memory
from treering.errors import InputError, JournalError, JournalFull
from treering.journal import schema
from treering.journal.contract import Writer
from treering.journal.open import open_database
from treering.journal.postgres.database import PostgresDatabase

NOTES: Final = [f"Note {n} of Ana, on the boat." for n in range(6)]
DOOMED: Final = "Ana hides a zanzibar."


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that tests may kill, and start again."""
    with ExitStack() as stack:
        own = PostgresServer()
        stack.callback(own.stop)
        own.start()
        execute(own, f"CREATE DATABASE {EMPTY}")
        memory_in(url_of(own, EMPTY)).close()
        for name, (prepare, _) in CHANGES.items():
            copy_database(own, EMPTY, f"{BEFORE}_{name}")
            with memory_in(url_of(own, f"{BEFORE}_{name}")) as memory:
                prepare(memory)
        yield own


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return Source(tmp_path_factory.mktemp("source") / "source.db")


EMPTY: Final = "empty"
"""The database of a memory with nothing in it: a copy takes a quarter of the time."""

BEFORE: Final = "before"
"""What the databases to copy for a change are called, with what is there before it."""


def copy_database(server: PostgresServer, copied: str, name: str) -> None:
    execute(server, f"CREATE DATABASE {name} TEMPLATE {copied} STRATEGY FILE_COPY")


def url_of(server: PostgresServer, database: str) -> str:
    return server.url.replace("/postgres?", f"/{database}?") + "&schema=own"


class Dying(PostgresDatabase):
    """A database whose server is killed at its n-th write transaction: before that is committed, or
    as soon as it is."""

    def __init__(self, url: str, server: PostgresServer, last: int, moment: str) -> None:
        super().__init__(url)
        self._server, self._last, self._moment = server, last, moment
        self._writes = count(1)
        self.is_killed = False

    @contextmanager
    def write(self, space: str | None = None, *, derived: bool = False) -> Iterator[Writer]:
        is_last = next(self._writes) == self._last
        with super().write(space, derived=derived) as writer:
            yield writer
            if is_last and self._moment == "before":
                self._kill()
        if is_last and self._moment == "after":
            self._kill()

    def _kill(self) -> None:
        self.is_killed = True
        self._server.kill()


def memory_in(database: str) -> Memory:
    return Memory.open(database, embedder=HashingEmbedder(), llm="none")


# ---------------------------------------------------------------------- killed in the midst


def add(memory: Memory) -> None:
    memory.add([{"role": "user", "content": note} for note in NOTES], source="notes")


def settle(memory: Memory) -> None:
    memory.settle()
    memory.tree.settle()


def forget(memory: Memory) -> None:
    """Done before, it has nothing left to forget; that is said by an error of its own."""
    try:
        memory.forget(source="doomed")
    except InputError:
        memory.settle()


class Source:
    """An export to import."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with Memory.open(path, embedder=HashingEmbedder(), llm="none") as memory:
            add(memory)
            self.lines = list(memory.export())

    def import_into(self, memory: Memory) -> None:
        memory.import_(self.lines)


def nothing(_: Memory) -> None: ...


def added_without_a_model(memory: Memory) -> None:
    with Memory.open(memory._database.url, embedder=HashingEmbedder(tamper=down)) as failing:
        add(failing)


def with_what_is_doomed(memory: Memory) -> None:
    add(memory)
    memory.add(DOOMED, source="doomed")


Change = Callable[[Memory], None]

CHANGES: Final[Mapping[str, tuple[Change, Change | None]]] = {
    "add": (nothing, add),
    "settle": (added_without_a_model, settle),
    "forget": (with_what_is_doomed, forget),
    "import": (nothing, None),
}
"""What is there before, and the change; that of a source is asked of it."""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_during_which_the_server_is_killed_is_done_again_without_loss(
    server: PostgresServer, source: Source, name: str, moment: str
) -> None:
    _, change = CHANGES[name]
    change = change or source.import_into
    for last in count(1, 1 if moment == "before" else 3):
        database = f"{name}_{moment}_{last}"
        copy_database(server, f"{BEFORE}_{name}", database)
        url = url_of(server, database)
        is_killed = run_until_killed(url, server, change, last, moment)
        with memory_in(url) as memory:
            change(memory)
            memory.settle()
            assert [entry.text for entry in memory.entries()] == NOTES
            stats = memory.stats()
            assert (stats.pending, stats.fragments, stats.embedded) == ({}, 6, 6)
            assert memory.check() == []
            assert DOOMED not in everything(memory)
        if not is_killed:
            assert last > 1
            return


def run_until_killed(
    url: str, server: PostgresServer, change: Callable[[Memory], None], last: int, moment: str
) -> bool:
    """Whether the server was killed; it runs again then."""
    database = Dying(url, server, last, moment)
    errors: list[str] = []
    with Memory(database, "default", HashingEmbedder(), "none") as memory:
        try:
            change(memory)
        except JournalError as error:
            errors.append(str(error))
    assert database.is_killed or not errors
    assert all("Check that it runs" in error for error in errors)
    if database.is_killed:
        server.start()
    return database.is_killed


def everything(memory: Memory) -> str:
    with memory._database.read() as reader:
        tables = [table.name for table in reader.tables()]
        return str([list(reader.rows(f"SELECT CAST(t.* AS TEXT) FROM {t} t")) for t in tables])


def test_creating_a_memory_that_is_cut_short_leaves_nothing(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.url}&schema=created"
    script = schema.script
    with monkeypatch.context() as patch, ThreadPoolExecutor(1) as threads:
        slow = "SELECT pg_sleep(600)"
        patch.setattr(schema, "script", lambda package: script(package) + slow)
        opening = threads.submit(open_database, url)
        until(lambda: is_asleep(server))
        server.kill()
        with pytest.raises(JournalError, match="nothing of this change was stored"):
            opening.result(TIMEOUT_S)
    server.start()
    with closing(open_database(url)) as database, database.read() as reader:
        assert reader.row("SELECT number FROM treering_version") == (schema.FORMAT,)


def is_asleep(server: PostgresServer) -> bool:
    with psycopg.connect(server.url) as connection:
        query = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        return connection.execute(query).fetchone() is not None


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# ---------------------------------------------------------------------- two writers of one source


def test_two_writers_of_one_source_keep_each_line_once_and_in_a_place_of_its_own() -> None:
    url = new_schema()
    both = threading.Barrier(2)

    def write(name: str) -> None:
        with memory_in(url) as memory:
            both.wait(TIMEOUT_S)
            for number in range(8):
                line = {"role": "user", "content": f"Line {number} of {name}."}
                memory.add([line], source="chat")
                memory.add([{"role": "user", "content": f"Both say {number}."}], source="chat")

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, ("ana", "ben")))
    with memory_in(url) as memory:
        entries = list(memory.entries())
        assert sorted(entry.position for entry in entries) == list(range(len(entries)))
        texts = [entry.text for entry in entries]
        for name in ("ana", "ben"):
            ours = [text for text in texts if name in text]
            assert ours == [f"Line {number} of {name}." for number in range(8)]


# ---------------------------------------------------------------------- no room


@pytest.fixture
def small_disk() -> Iterator[tuple[PostgresServer, Path]]:
    """A server that has a file system of a few megabytes in this folder, and nobody else sees."""
    if shutil.which("unshare") is None or not can_mount():
        pytest.skip("a small file system is mounted where `unshare --mount` may: run it as root")
    with ExitStack() as stack:
        own = PostgresServer()
        stack.callback(own.stop)
        folder = own.folder / "small"
        folder.mkdir()
        own.start(small=folder)
        yield own, folder


def can_mount() -> bool:
    command = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /tmp"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_change_that_the_server_has_no_room_for_stores_nothing_and_goes_on_later(
    small_disk: tuple[PostgresServer, Path],
) -> None:
    own, folder = small_disk
    execute(own, f"CREATE TABLESPACE small LOCATION '{folder}'")
    execute(own, BALLAST)
    with memory_in(f"{own.url}&options=-c%20default_tablespace%3Dsmall") as memory:
        memory.add("Ana lives in Porto.", source="first")
        stored = fill(memory)
        assert len(list(memory.entries())) == 1 + stored
        with pytest.raises(JournalFull):
            memory.forget(source="large")
        with pytest.raises(JournalFull):
            memory.forget_space("default")
        assert len(list(memory.entries())) == 1 + stored
        assert [hit.text for hit in memory.search("Porto", k=1)] == ["Ana lives in Porto."]
        execute(own, "DROP TABLE public.ballast")
        memory.add("Ben lives in Rome.", source="last")
        assert memory.settle().pending == {}
        assert len(list(memory.entries())) == 2 + stored
        assert [hit.text for hit in memory.search("Rome", k=1)] == ["Ben lives in Rome."]
        assert memory.check() == []
        memory.forget(source="large")
        assert len(list(memory.entries())) == 2


BALLAST: Final = (
    "CREATE TABLE public.ballast TABLESPACE small AS"
    " SELECT gen_random_uuid() FROM generate_series(1, 60000)"
)


def execute(server: PostgresServer, sql: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(sql)


def fill(memory: Memory) -> int:
    """Add to a source until there is no room, which is an error; the lines that were stored."""
    stored = 0
    with pytest.raises(JournalFull):
        for number in count():
            memory.add(noise(number), source="large")
            stored += LINES
    return stored


LINES: Final = 24


def noise(seed: int) -> list[dict[str, str]]:
    """Long lines that nothing compresses."""
    rng = random.Random(seed)
    return [{"role": "user", "content": rng.randbytes(8_000).hex()} for _ in range(LINES)]
