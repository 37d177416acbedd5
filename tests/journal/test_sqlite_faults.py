"""What can be wrong with an SQLite file: every error is ours and says what to do."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests import programs
from treering.errors import (
    InputError,
    JournalBusy,
    JournalCorrupt,
    JournalError,
    JournalFull,
)
from treering.journal.open import open_database
from treering.journal.sqlite import connection
from treering.journal.sqlite.connection import PAGE_SIZE
from treering.journal.sqlite.database import SqliteDatabase


def fill(database: SqliteDatabase, rows: int = 400, start: int = 0) -> None:
    names = ((f"{number:0200}",) for number in range(start, start + rows))
    with database.write() as writer:
        writer.many("INSERT INTO space (name) VALUES (?)", names)


@contextmanager
def opened(path: Path) -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase(path)) as database:
        yield database


def rows_of(path: Path) -> int:
    with opened(path) as database, database.read() as reader:
        return len(list(reader.rows("SELECT name FROM space")))


def test_another_writer_that_takes_too_long_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_S", 0.05)
    with (
        opened(path) as one,
        opened(path) as other,
        one.write(),
        pytest.raises(JournalBusy),
        other.write(),
    ):
        raise AssertionError("not reached")


def test_ctrl_c_ends_the_wait_for_another_writer(path: Path) -> None:
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with opened(path) as one, opened(path) as other:
            with one.write():
                began = time.monotonic()
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                with pytest.raises(KeyboardInterrupt), other.write():
                    raise AssertionError("not reached")
                assert time.monotonic() - began < connection.BUSY_TIMEOUT_S / 2
            fill(other, rows=1)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_file_that_may_not_grow_is_full_and_keeps_what_it_had(path: Path) -> None:
    with opened(path) as database:
        fill(database, 10)
        with database.write() as writer:
            pages = writer.row("PRAGMA page_count")
            assert pages is not None
            writer.row(f"PRAGMA max_page_count = {pages[0] + 2}")
        with pytest.raises(JournalFull):
            fill(database, start=10)
    assert rows_of(path) == 10


def test_a_file_over_its_size_limit_says_that_nothing_was_stored(path: Path) -> None:
    """RLIMIT_FSIZE: the write itself fails, as with a quota or a broken disk."""
    script = """
import resource, signal, sys
from pathlib import Path
from treering.errors import JournalError
from treering.journal.sqlite.database import SqliteDatabase
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
database = SqliteDatabase(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    with database.write() as writer:
        rows = ((str(n) * 100,) for n in range(9_000))
        writer.many("INSERT INTO space (name) VALUES (?)", rows)
except JournalError as error:
    print(error)
with database.read() as reader:
    assert not list(reader.rows("SELECT * FROM space"))
"""
    done = _run(script, path)
    assert done.returncode == 0, done.stderr
    assert "nothing of this change was stored" in done.stdout
    assert rows_of(path) == 0


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(path: Path) -> None:
    path.write_bytes(b"My sister moved to Porto.\n" * 400)
    before = path.read_bytes()
    with pytest.raises(JournalCorrupt):
        SqliteDatabase(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_as_it_was(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmark (url)")
    before = path.read_bytes()
    with pytest.raises(JournalCorrupt):
        SqliteDatabase(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_truncated_file_is_corrupt(path: Path) -> None:
    with opened(path) as database:
        fill(database)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(JournalCorrupt):
        rows_of(path)


@pytest.mark.parametrize("damaged", [1, 40, PAGE_SIZE])
def test_flipped_bytes_are_found_by_the_check_and_when_they_are_read(
    path: Path, damaged: int
) -> None:
    with opened(path) as database:
        fill(database)
        page = _root_page(database, "space")
    data = bytearray(path.read_bytes())
    start = (page - 1) * PAGE_SIZE
    data[start : start + damaged] = bytes(byte ^ 0xFF for byte in data[start : start + damaged])
    path.write_bytes(data)
    with opened(path) as database:
        assert database.check()
        with pytest.raises(JournalCorrupt), database.read() as reader:
            list(reader.rows("SELECT name FROM space NOT INDEXED"))


def _root_page(database: SqliteDatabase, table: str) -> int:
    with database.read() as reader:
        row = reader.row("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
    assert row is not None
    return int(row[0])


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    with opened(path) as database:
        fill(database, 3)
    assert rows_of(path) == 3


READ_ONLY = """
import os, sys
from pathlib import Path
from treering.errors import JournalError
from treering.journal.sqlite.database import SqliteDatabase
if os.geteuid() == 0:  # nothing is read-only for root
    os.setgid(65534)
    os.setuid(65534)
try:
    database = SqliteDatabase(Path(sys.argv[1]))
    with database.write() as writer:
        writer.execute("INSERT INTO space (name) VALUES ('ben')")
except JournalError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
@pytest.mark.parametrize(
    ("folder", "file"),
    [(0o755, 0o444), (0o555, 0o666), (0o700, 0o666), (0o755, 0o600), (0o555, None)],
    ids=["file", "folder", "closed folder", "closed file", "new file"],
)
def test_what_may_not_be_written_is_refused_with_what_to_change(
    folder: int, file: int | None
) -> None:
    with tempfile.TemporaryDirectory(prefix="treering-") as name:  # others may enter this one
        path = Path(name) / "life.db"
        if file is not None:
            with opened(path) as database:
                fill(database, 3)
            path.chmod(file)
        if os.geteuid() != 0:  # the process is the owner then, whom other bits concern
            folder, file = folder & 0o500, (file or 0) & 0o400
        Path(name).chmod(folder)
        done = _run(READ_ONLY, path)
        Path(name).chmod(0o700)
        assert done.returncode == 0, done.stderr
        assert "no permission" in done.stdout
        assert "readable and writable" in done.stdout
        if file is not None:
            path.chmod(0o600)
            assert rows_of(path) == 3


OUT_OF_FILES = """
import os, resource, sys
from contextlib import suppress
from treering.errors import JournalError
from treering.journal.open import open_database

_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
taken = []
with suppress(OSError):
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
for _ in range(3):  # one by one, so that each step of opening lacks a descriptor once
    os.close(taken.pop())
    try:
        open_database(sys.argv[1]).close()
    except JournalError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_a_process_that_is_out_of_files_is_told_so(tmp_path: Path) -> None:
    with opened(tmp_path / "life.db") as database:
        fill(database, 3)
    done = _run(OUT_OF_FILES, tmp_path / "life.db")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("too many open files") == len(done.stdout.splitlines()) > 0


FIRST_SEARCH = """
import os, resource, sys
from tests.embedders import HashingEmbedder
from treering import Memory

with Memory.open(sys.argv[1], embedder=HashingEmbedder()) as memory:
    memory.add("Ana keeps bees.")
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used - 1, used - 1))
    print(memory.search("bees")[0].text)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it counts open files by /proc")
def test_a_first_search_opens_no_file(tmp_path: Path) -> None:
    done = _run(FIRST_SEARCH, tmp_path / "life.db")
    assert (done.stdout.strip(), done.returncode) == ("Ana keeps bees.", 0), done.stderr


def _run(script: str, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, str(path)]
    return programs.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "url",
    [
        *("", " ", "sqlite:///", ":memory:", "nowhere/life.db", "."),
        *("mysql://ana:secret@host/db", "http://ana:secret@host/life.db"),
    ],
)
def test_a_place_that_cannot_be_a_file_is_refused_without_its_password(url: str) -> None:
    with pytest.raises((InputError, JournalError)) as refused:
        open_database(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("value", ["\ud800", 2**63])
def test_a_value_that_sqlite_cannot_hold_is_refused(path: Path, value: str | int) -> None:
    with opened(path) as database, database.read() as reader:
        with pytest.raises(InputError, match="cannot be stored"):
            reader.row("SELECT ?", (value,))
        assert reader.row("SELECT 1") == (1,)


def test_no_error_of_the_driver_escapes(path: Path) -> None:
    with opened(path) as database, database.write() as writer:
        for wrong in (
            lambda: writer.execute("NONSENSE"),
            lambda: writer.insert_many("INSERT INTO nowhere VALUES (1)", [()]),
            lambda: writer.many("INSERT INTO space (name) VALUES (?)", [("a",), ("a",)]),
            lambda: writer.row("SELECT ?", ()),
            lambda: list(writer.rows("SELECT nothing FROM space")),
        ):
            with pytest.raises(JournalError, match=str(path)):
                wrong()
