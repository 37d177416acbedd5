"""Which processes have a file open: known by a lock that the system takes away with them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests import programs
from tests.programs import Program
from treering.errors import JournalError
from treering.journal.sqlite.database import SqliteDatabase

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60
PRESENT = """
import sys
from pathlib import Path
from treering.journal.sqlite.database import SqliteDatabase
database = SqliteDatabase(Path(sys.argv[1]))
print(database.presence(), flush=True)
sys.stdin.read()
"""
LOOK = """
import sys
from pathlib import Path
from treering.journal.sqlite.database import SqliteDatabase
print(SqliteDatabase(Path(sys.argv[1])).is_present(int(sys.argv[2])))
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks there")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "life.db"


@pytest.fixture
def database(path: Path) -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase(path)) as opened:
        yield opened


@contextmanager
def another(path: Path) -> Iterator[int]:
    """The presence of a process that has the file open; it is killed at the end."""
    process = Program(
        [sys.executable, "-c", PRESENT, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    stuck = threading.Timer(TIMEOUT_S, process.kill)
    stuck.start()
    with process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            stuck.cancel()
            process.kill()


def is_seen(path: Path, number: int) -> bool:
    """Whether another process takes the one of a number for present."""
    done = programs.run(
        [sys.executable, "-c", LOOK, str(path), str(number)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        cwd=ROOT,
        check=True,
    )
    return done.stdout == "True\n"


def test_a_process_is_present_until_it_is_killed(path: Path, database: SqliteDatabase) -> None:
    with another(path) as number:
        assert database.is_present(number)
        assert database.is_present(number)  # looking takes nobody's lock
    assert not database.is_present(number)


def test_a_process_is_present_to_itself_and_to_others_by_one_number(
    path: Path, database: SqliteDatabase
) -> None:
    with closing(SqliteDatabase(path)) as again:
        number = database.presence()
        assert again.presence() == number
        assert again.is_present(number)
    assert not database.is_present(number + 1)
    assert is_seen(path, number)


def test_what_else_a_process_does_with_the_file_does_not_end_its_presence(
    path: Path, database: SqliteDatabase
) -> None:
    """POSIX lets go of all locks on a file with any descriptor of it that is closed."""
    number = database.presence()

    def read() -> None:
        with database.read() as reader:
            reader.row("SELECT count(*) FROM entry")

    for _ in range(3):
        SqliteDatabase(path).close()
        thread = threading.Thread(target=read)
        thread.start()
        thread.join(TIMEOUT_S)
    assert database.scrub(())
    assert is_seen(path, number)


def test_who_closes_the_file_is_absent_and_comes_back_as_another(path: Path) -> None:
    with closing(SqliteDatabase(path)) as first:
        number = first.presence()
    with closing(SqliteDatabase(path)) as second:
        assert not second.is_present(number)
        assert second.presence() != number
    with pytest.raises(JournalError, match="closed"):
        first.presence()
