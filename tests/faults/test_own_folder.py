"""A memory that lies in the folder that is read, and other readers of its file in one process."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.faults.processes import TIMEOUT_S, come_and_go, texts_seen_by_another
from tests.faults.test_processes import go, lines, start
from tests.faults.writer import MESSAGES
from treering import Memory, files
from treering.errors import InputError, JournalError
from treering.journal import posix_locks
from treering.records import Skipped
from treering.views.code.parse.source_files import scan

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks there")


@pytest.fixture
def folder(path: Path) -> Path:
    """A folder with the memory and a few files, some of which are the memory by other names."""
    (path.parent / "notes.txt").write_text("Ana moved to Porto.")
    (path.parent / "walk.py").write_text("def walk():\n    return 1\n")
    return path.parent


def link_to_the_memory(path: Path) -> None:
    os.link(path, path.parent / "linked.py")
    os.link(f"{path}-wal", path.parent / "log.txt")
    os.link(f"{path}-shm", path.parent / "index.txt")


def read_the_folder(memory: Memory, folder: Path) -> None:
    receipt = memory.add(folder)
    left_out = {Path(one.path).name for one in receipt.skipped if one.reason == files.REASON}
    assert left_out >= {"life.db", "life.db-wal", "life.db-shm", "linked.py", "log.txt"}


def index_the_folder(memory: Memory, folder: Path) -> None:
    memory.code.index(folder)


def add_the_file(memory: Memory, folder: Path) -> None:
    with pytest.raises(InputError, match=r"life\.db is the memory itself; give another file"):
        memory.add(folder / "life.db")


def read_a_link(memory: Memory, folder: Path) -> None:
    (folder / "soft.jsonl").symlink_to(folder / "life.db")
    with pytest.raises(InputError, match="is the memory itself"):
        memory.add(folder / "soft.jsonl")


@posix
@pytest.mark.parametrize("read", [read_the_folder, index_the_folder, add_the_file, read_a_link])
def test_reading_the_folder_that_holds_the_memory_loses_nothing(
    folder: Path, path: Path, open_memory: Open, read: Callable[[Memory, Path], None]
) -> None:
    memory = open_memory()
    memory.add("Before.", source="here")
    link_to_the_memory(path)
    read(memory, folder)
    come_and_go(path)
    for number in range(5):
        memory.add(f"After {number}.", source="here")
    texts = texts_seen_by_another(path)
    assert {"Before.", *(f"After {number}." for number in range(5))} <= set(texts)


def test_a_scan_names_the_memory_among_what_it_left_out(
    folder: Path, path: Path, open_memory: Open
) -> None:
    open_memory()
    left_out = [one for one in scan(folder) if isinstance(one, Skipped)]
    assert Skipped(path.name, "the memory itself") in left_out


@posix
def test_a_file_that_becomes_a_memory_while_it_is_read_is_closed_after_it(
    path: Path, open_memory: Open
) -> None:
    path.touch()
    with files.open_file(path) as stream:
        memory = open_memory()
        memory.add("Before.")
        assert stream.read(6) == b"SQLite"
    inode = posix_locks.inode_of(path)
    assert inode is not None
    assert not posix_locks.has_lost_locks(inode)
    come_and_go(path)
    memory.add("After.")
    assert texts_seen_by_another(path) == ["Before.", "After."]


def read_as_others_do(path: Path) -> None:
    path.read_bytes()


def copy_as_others_do(path: Path) -> None:
    for file in list(path.parent.glob("life.db*")):
        shutil.copy(file, path.parent / f"copy of {file.name}")


linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of lost locks")


@linux
@pytest.mark.parametrize("read", [read_as_others_do, copy_as_others_do])
def test_a_reader_that_is_not_ours_loses_nothing(
    path: Path, open_memory: Open, read: Callable[[Path], None]
) -> None:
    memory, other = open_memory(), open_memory()
    memory.add("Before.")
    other.add("Before too.")
    read(path)
    for number in range(3):
        memory.add(f"After {number}.")
        come_and_go(path)
        other.add(f"Other {number}.")
        assert memory.search("after")
    assert len(texts_seen_by_another(path)) == 8


@linux
def test_what_was_written_while_the_locks_were_lost_is_not_acknowledged(
    path: Path, open_memory: Open
) -> None:
    memory = open_memory()
    memory.add("Before.")
    lost = pytest.raises(JournalError, match="may be lost; look whether it is there")
    with lost, memory._database.write() as writer:
        writer.execute("INSERT INTO space (name) VALUES ('ana')")
        path.read_bytes()
    memory.add("After.")
    assert texts_seen_by_another(path) == ["Before.", "After."]


@linux
def test_eight_threads_another_process_and_a_reader_lose_nothing_acknowledged(
    path: Path, open_memory: Open
) -> None:
    memory = open_memory()
    done = threading.Event()

    def add(name: int) -> list[str]:
        acknowledged = []
        for number in range(4):
            text = f"Thread {name} says {number}."
            with suppress(JournalError):  # a clear error is no acknowledgement
                memory.add(text, source=f"thread {name}")
                acknowledged.append(text)
        return acknowledged

    def disturb() -> None:
        for _ in range(15):  # bounded: on a busy machine every add would meet one
            if not done.wait(0.02):
                path.read_bytes()

    with ThreadPoolExecutor(9) as pool, start(path, "Ana", 4) as process:
        said = lines(process)
        assert next(said) == "ready"
        disturbing = pool.submit(disturb)
        go(process)
        adding = [pool.submit(add, name) for name in range(8)]
        acknowledged = [text for one in adding for text in one.result(TIMEOUT_S)]
        theirs = list(said)
        done.set()
        disturbing.result(TIMEOUT_S)
        assert process.wait(TIMEOUT_S) == 0
    texts = texts_seen_by_another(path)
    assert set(acknowledged) <= set(texts)
    assert acknowledged
    assert len([text for text in texts if "talk" in text]) == MESSAGES * len(theirs)
