"""A file that is moved, replaced or removed while a memory has it open."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.faults.processes import TIMEOUT_S, texts_seen_by_another
from treering import Memory
from treering.errors import JournalError
from treering.journal.sqlite.database import SqliteDatabase

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an open file stays there")
GONE = r"life\.db was moved, replaced or removed; open it again"


def move(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def remove(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    other = path.with_name("other.db")
    with Memory.open(other, embedder=HashingEmbedder()) as memory:
        memory.add("Of another memory.")
    other.rename(path)


@pytest.mark.parametrize("act", [move, remove, replace])
def test_nothing_is_acknowledged_into_a_file_that_is_not_there(
    path: Path, open_memory: Open, act: Callable[[Path], None]
) -> None:
    memory = open_memory()
    memory.add("Before.")
    act(path)
    for _ in range(2):
        with pytest.raises(JournalError, match=GONE):
            memory.add("After.")
        with pytest.raises(JournalError, match=GONE):
            memory.search("before")
    assert path.exists() == (act is replace)


@pytest.mark.parametrize("act", [move, remove, replace])
def test_a_write_under_way_is_not_acknowledged_either(
    path: Path, act: Callable[[Path], None]
) -> None:
    with (
        closing(SqliteDatabase(path)) as database,
        pytest.raises(JournalError, match=GONE),
        database.write() as writer,
    ):
        writer.execute("INSERT INTO space (name) VALUES ('ana')")
        act(path)


def test_a_thread_that_comes_later_makes_no_new_file(path: Path, open_memory: Open) -> None:
    memory = open_memory()
    path.unlink()
    errors: list[Exception] = []

    def add() -> None:
        try:
            memory.add("After.")
        except JournalError as error:
            errors.append(error)

    thread = threading.Thread(target=add)
    thread.start()
    thread.join(TIMEOUT_S)
    assert "removed; open it again" in str(errors[0])
    assert not path.exists()


def test_a_moved_memory_has_all_that_was_acknowledged(path: Path, open_memory: Open) -> None:
    memory = open_memory()
    memory.add("Before.")
    moved = path.with_name("moved.db")
    path.rename(moved)
    with pytest.raises(JournalError, match=r"life\.db-wal, which belongs beside it"):
        memory.add("After.")
    memory.close()
    with pytest.raises(JournalError, match=r"life\.db-wal is the log of a memory that was moved"):
        open_memory()
    Path(f"{path}-wal").rename(f"{moved}-wal")
    assert texts_seen_by_another(moved) == ["Before."]
    assert open_memory().stats().entries == 0


def test_a_link_that_leads_elsewhere_now_is_noticed(path: Path, tmp_path: Path) -> None:
    for name in ("one.db", "two.db"):
        SqliteDatabase(tmp_path / name).close()
    path.symlink_to(tmp_path / "one.db")
    with closing(SqliteDatabase(path)) as database:
        with database.write() as writer:
            writer.execute("INSERT INTO space (name) VALUES ('ana')")
        assert database.size() > (tmp_path / "one.db").stat().st_size  # with the log
        path.unlink()
        path.symlink_to(tmp_path / "two.db")
        with pytest.raises(JournalError, match=GONE), database.write():
            raise AssertionError("not reached")


def test_a_relative_path_means_the_same_file_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Memory.open("life.db", embedder=HashingEmbedder()) as memory:
        memory.add("Before.")
        os.chdir("elsewhere")
        thread = threading.Thread(target=memory.add, args=("After.",))
        thread.start()
        thread.join(TIMEOUT_S)
        assert [entry.text for entry in memory.entries()] == ["Before.", "After."]
    assert not list((tmp_path / "elsewhere").iterdir())
