"""Scrubbing that had to wait is done by whoever can: who opens the file, forgets or settles."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.memory.test_forget import SECRET, bytes_of
from treering import Memory
from treering.errors import UnknownName
from treering.journal.sqlite import scrub
from treering.views import erase


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erase, "WAIT_S", 0.01)
    monkeypatch.setattr(erase, "RETRY_WAIT_S", 0.01)
    monkeypatch.setattr(scrub, "WAIT_S", 0.01)


@contextmanager
def read_by(other: Memory) -> Iterator[None]:
    """Another one reads the file as it is now, for the time of the block."""
    with other._database.read() as reader:
        reader.row("SELECT count(*) FROM entry")
        yield


@pytest.fixture
def left(open_memory: Open, path: Path) -> str:
    """The id of an entry that was forgotten while somebody was reading the file."""
    memory, other = open_memory(), open_memory()
    memory.add("Ana moved to Porto.")
    entry = memory.add(SECRET).ids[0]
    with read_by(other):
        assert not memory.forget(entry).scrubbed
    assert b"flowerpot" in bytes_of(path)
    memory.close()
    other.close()
    return entry


def test_whoever_opens_the_file_does_what_is_left_in_any_space(
    left: str, open_memory: Open, path: Path
) -> None:
    memory = open_memory(space="another", create=True)
    assert b"flowerpot" not in bytes_of(path)
    assert open_memory().stats().pending == {}
    assert memory.stats().pending == {}
    assert left


def test_opening_does_not_wait_for_a_reader_and_says_what_is_left(
    open_memory: Open, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory, other = open_memory(), open_memory()
    entry = memory.add(SECRET).ids[0]
    with read_by(other), caplog.at_level(logging.WARNING):
        assert not memory.forget(entry).scrubbed
        assert open_memory().stats().pending == {"scrub": 1}
    assert "erased text may still be in the bytes of" in caplog.text
    with pytest.raises(UnknownName):
        memory.forget(entry)
    assert b"flowerpot" not in bytes_of(path)
    assert memory.stats().pending == {}


def test_the_next_who_forgets_does_what_is_left_for_all(open_memory: Open, path: Path) -> None:
    memory, other = open_memory(), open_memory(space="another")
    entry = memory.add(SECRET).ids[0]
    theirs = other.add("Ben keeps bees.").ids[0]
    with read_by(other):
        assert not memory.forget(entry).scrubbed
    assert other.forget(theirs).scrubbed
    assert b"flowerpot" not in bytes_of(path)
    assert memory.stats().pending == {}


def test_a_table_that_is_too_large_is_left_to_settle(
    open_memory: Open, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub, "MAX_ROWS", 1)
    monkeypatch.setattr(scrub, "SMALL_FILE", 0)
    memory = open_memory()
    for town in ("Porto", "Faro", "Lagos"):
        memory.add(f"I live in {town}.", speaker="Ana")
    entry = memory.add(SECRET).ids[0]
    assert not memory.forget(entry).scrubbed
    assert memory.stats().pending == {"scrub": 1}
    monkeypatch.setattr(scrub, "MAX_ROWS", 100)
    assert memory.settle().pending == {}
    assert b"flowerpot" not in bytes_of(path)
    assert memory.forget(memory.add(SECRET).ids[0]).scrubbed


def test_settling_gives_back_the_room_of_what_was_erased(
    open_memory: Open, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "MIN_BLANKED", 1 << 16)
    memory = open_memory()
    memory.add("Ana moved to Porto.", source="diary")
    memory.add(
        [{"role": "user", "content": f"{n} " + "secret " * 1_000} for n in range(300)], source="big"
    )
    assert memory.forget(source="big").scrubbed
    before = memory.stats().bytes
    assert memory.settle().bytes < before / 2
    assert [hit.text for hit in memory.search("Porto")] == ["Ana moved to Porto."]
    assert memory.check() == []
    assert memory.add("Ben keeps bees.", source="diary").ids
    assert [entry.text for entry in memory.entries()] == ["Ana moved to Porto.", "Ben keeps bees."]


def test_scrubbing_has_nobody_read_the_definitions_of_the_tables_again(
    open_memory: Open, path: Path
) -> None:
    memory = open_memory()
    memory.add({"role": "user", "name": "Ana", "content": "I live in Porto."})  # leaves a statement
    entry = memory.add({"role": "user", "name": "Ana", "content": SECRET}).ids[0]

    def definitions() -> int:
        with closing(sqlite3.connect(path)) as file:
            row: tuple[int] = file.execute("PRAGMA schema_version").fetchone()
            return row[0]

    before = definitions()
    assert memory.forget(entry).scrubbed
    assert definitions() == before
    [fact] = memory.facts.current()
    assert fact.value == "Porto"
