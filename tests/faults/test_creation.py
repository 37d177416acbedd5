"""Files while they are made: whoever is killed then, they open; and they are their owner's."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests import programs
from tests.conftest import Open
from tests.faults.processes import TIMEOUT_S, run_script
from treering.errors import JournalCorrupt
from treering.journal.sqlite.database import SqliteDatabase

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals and modes")

KILLED_IN_THE_MIDDLE = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN")
connection.execute("CREATE TABLE entry (text)")
connection.executemany("INSERT INTO entry VALUES (?)", (("x" * 3000,) for _ in range(200)))
os.kill(os.getpid(), 9)
"""


def kill_in_the_middle(path: Path) -> None:
    """Leave a file with a journal that has to be rolled back before anything can be read."""
    programs.run([sys.executable, "-c", KILLED_IN_THE_MIDDLE, str(path)], timeout=TIMEOUT_S)
    assert path.stat().st_size > 0
    assert Path(f"{path}-journal").stat().st_size > 0


@posix
def test_a_file_whose_making_was_killed_opens_again(path: Path, open_memory: Open) -> None:
    kill_in_the_middle(path)
    memory = open_memory()
    memory.add("Ana moved to Porto.")
    assert memory.check() == []
    assert not Path(f"{path}-journal").exists()


@posix
def test_another_programs_file_that_needs_its_journal_is_still_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmark (url)")
    kill_in_the_middle(path)
    with pytest.raises(JournalCorrupt):
        SqliteDatabase(path)


KILLED_AT_ANY_TIME = """
import os, random, signal, sys, time
from pathlib import Path
from treering.journal.sqlite.database import SqliteDatabase

def in_a_child(work):
    if (child := os.fork()) == 0:
        work()
        os._exit(0)
    return child

SqliteDatabase(Path(sys.argv[1], "warm.db")).close()
rng = random.Random(1)
for number in range(30):
    path = Path(sys.argv[1], f"{number}.db")
    children = [in_a_child(lambda: SqliteDatabase(path)) for _ in range(2)]
    time.sleep(rng.uniform(0, 0.02))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    database = SqliteDatabase(path)
    with database.write() as writer:
        writer.execute("INSERT INTO space (name) VALUES ('ana')")
    assert database.check() == []
    database.close()
"""


@posix
def test_two_makers_killed_at_any_time_leave_no_file_that_does_not_open(tmp_path: Path) -> None:
    run_script(KILLED_AT_ANY_TIME, tmp_path)


MODES = """
import os, sys
from pathlib import Path
from treering.journal.sqlite.database import SqliteDatabase
os.umask(0o022)
path = Path(sys.argv[1])
database = SqliteDatabase(path)
for file in sorted(path.parent.iterdir()):
    print(file.name, f"{file.stat().st_mode & 0o777:o}")
"""


@posix
def test_a_new_file_and_those_beside_it_are_their_owners_alone(path: Path) -> None:
    lines = run_script(MODES, path).splitlines()
    assert lines == ["life.db 600", "life.db-shm 600", "life.db-wal 600"]


@posix
def test_the_mode_of_a_file_that_is_there_stays(path: Path) -> None:
    path.touch(0o640)
    path.chmod(0o640)
    SqliteDatabase(path).close()
    assert path.stat().st_mode & 0o777 == 0o640
