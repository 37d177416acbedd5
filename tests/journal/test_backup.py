"""A copy of a file in use is whole, of one moment, its owner's alone, or not there."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests import programs
from tests.conftest import Open
from tests.faults.processes import ROOT
from treering import backup
from treering.errors import InputError, JournalCorrupt, JournalError, UnknownName
from treering.journal import posix_locks
from treering.journal.sqlite.backup import STEP_PAGES
from treering.journal.sqlite.connection import PAGE_SIZE


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_it_holds_what_was_acknowledged_and_is_its_owners_alone(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    memory = open_memory()
    memory.add("Ana moved to Porto.")
    memory.configure(k=3)
    pages: list[tuple[int, int]] = []
    size = backup(path, tmp_path / "copy.db", progress=lambda *moved: pages.append(moved))
    assert pages[-1][0] == pages[-1][1] > 0
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == posix_locks.PRIVATE
    assert (tmp_path / "copy.db").stat().st_size == size
    memory.add("Ben likes trains.")
    copy = open_memory(tmp_path / "copy.db")
    assert [entry.text for entry in copy.entries()] == ["Ana moved to Porto."]
    assert copy.search("Porto")[0].text == "Ana moved to Porto."
    assert copy.check() == memory.check() == []


def test_what_is_there_is_overwritten_only_when_asked(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    open_memory().add("Ana moved to Porto.")
    target = tmp_path / "copy.db"
    target.write_text("mine")
    target.chmod(0o644)
    with pytest.raises(InputError, match="exists already"):
        backup(path, target)
    assert target.read_text() == "mine"
    backup(path, target, overwrite=True)
    assert target.stat().st_mode & 0o777 == posix_locks.PRIVATE
    assert open_memory(target).stats().entries == 1


def test_what_is_no_target_is_refused_and_nothing_is_left(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    open_memory().add("Ana moved to Porto.")
    other = tmp_path / "other.db"
    open_memory(other)
    (tmp_path / "log.db-wal").touch()
    (tmp_path / "link.db").symlink_to(path)
    before = names(tmp_path)
    for target, why in (
        (path, "is a memory that is in use"),
        (tmp_path / "link.db", "is a memory that is in use"),
        (other, "is a memory that is in use"),
        (tmp_path / "log.db", "log.db-wal exists"),
        (tmp_path, "is a folder"),
        (tmp_path / "nowhere" / "copy.db", "is not a folder"),
    ):
        with pytest.raises(InputError, match=why):
            backup(path, target, overwrite=target != tmp_path / "log.db")
    assert names(tmp_path) == before


def test_what_is_no_memory_is_not_copied(tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        backup(tmp_path / "life.db", tmp_path / "copy.db")
    (tmp_path / "text.db").write_bytes(b"not a database" * 1000)
    with pytest.raises(JournalCorrupt):
        backup(tmp_path / "text.db", tmp_path / "copy.db")
    with closing(sqlite3.connect(tmp_path / "songs.db")) as songs:
        songs.execute("CREATE TABLE song (name)")
    with pytest.raises(JournalCorrupt):
        backup(tmp_path / "songs.db", tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_it_is_of_one_moment_while_others_write(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    memory = open_memory()
    with closing(sqlite3.connect(path)) as filler:  # two steps of copying, and more
        filler.execute("CREATE TABLE filler (zeros)")
        filler.execute("INSERT INTO filler VALUES (zeroblob(?))", (3 * STEP_PAGES * PAGE_SIZE,))
        filler.commit()
    told = threading.Event()

    def write(done: int, total: int) -> None:
        """A change in the middle of the copy, by a connection of another thread."""
        if not told.is_set():
            told.set()
            assert done < total
            writer = threading.Thread(target=memory.add, args=("Ben likes trains.",))
            writer.start()
            writer.join(timeout=30)
            assert not writer.is_alive()

    backup(path, tmp_path / "copy.db", progress=write)
    assert told.is_set()
    copy = open_memory(tmp_path / "copy.db")
    assert "Ben likes trains." not in {entry.text for entry in copy.entries()}
    assert "Ben likes trains." in {entry.text for entry in memory.entries()}
    assert copy.check() == []


def test_a_copy_that_fails_leaves_nothing_and_what_was_there(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    open_memory().add("Ana moved to Porto.")
    target = tmp_path / "copy.db"
    target.write_text("mine")
    before = names(tmp_path)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backup(path, target, overwrite=True, progress=interrupt)
    assert names(tmp_path) == before
    assert target.read_text() == "mine"


KILLED = """
import os, signal, sys
from pathlib import Path
from treering import backup
backup(sys.argv[1], sys.argv[2], progress=lambda *moved: os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_copy_that_is_killed_leaves_no_target_and_the_next_one_clears_up(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    open_memory().add("Ana moved to Porto.")
    target = tmp_path / "copy.db"
    command = [sys.executable, "-c", KILLED, str(path), str(target)]
    done = programs.run(command, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == -9
    assert not target.exists()
    [left] = tmp_path.glob(".copy.db.*.part")
    assert left.stat().st_mode & 0o777 == 0o700
    backup(path, target)
    assert list(tmp_path.glob(".copy.db.*")) == []
    assert open_memory(target).stats().entries == 1


FULL = """
import resource, signal, sys
from treering import backup
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    backup(sys.argv[1], sys.argv[2])
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of processes")
def test_a_disk_without_room_is_told_and_nothing_is_left(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    open_memory().add("Ana moved to Porto.")
    before = names(tmp_path)
    command = [sys.executable, "-c", FULL, str(path), str(tmp_path / "copy.db")]
    done = programs.run(command, cwd=ROOT, timeout=60, check=True, capture_output=True, text=True)
    assert done.stdout.startswith("Journal"), done.stdout
    assert "copy.db" in done.stdout
    assert names(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions")
def test_a_folder_that_may_not_be_written_is_told(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    open_memory()
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(JournalError, match="no permission"):
        backup(path, tmp_path / "closed" / "copy.db")


def test_two_at_once_do_not_disturb_each_other(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    open_memory().add("Ana moved to Porto.")
    target = tmp_path / "copy.db"
    sizes: list[int] = []

    def again(done: int, total: int) -> None:
        sizes.append(backup(path, target, overwrite=True))

    sizes.append(backup(path, target, overwrite=True, progress=again))
    assert len(set(sizes)) == 1
    assert open_memory(target).stats().entries == 1
    assert list(tmp_path.glob(".copy.db.*")) == []
