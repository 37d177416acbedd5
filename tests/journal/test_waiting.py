"""Who waits for another writer of a file looks often whether that is done."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from treering.journal.sqlite.connection import LONGEST_LOOK_S, begin_writing, connect

PATIENCE_S = 0.04


@pytest.fixture
def other(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "file.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE word (text TEXT)")
        connection.execute("BEGIN IMMEDIATE")
        yield connection


@pytest.fixture
def waiting(other: sqlite3.Connection, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "file.db")) as connection:
        yield connection


def patience_of(connection: sqlite3.Connection) -> int:
    row: tuple[int] = connection.execute("PRAGMA busy_timeout").fetchone()
    return row[0]


def test_a_writer_that_waits_begins_soon_after_the_other_one_has_ended(
    other: sqlite3.Connection, waiting: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 20:
            other.execute("COMMIT")

    monkeypatch.setattr(time, "sleep", pause)
    begin_writing(waiting, durable=True, wait_s=None)
    assert waiting.in_transaction
    assert len(pauses) == 20
    assert max(pauses) == LONGEST_LOOK_S
    assert patience_of(waiting) == 60_000


def test_a_writer_that_waits_gives_up_when_its_patience_ends(waiting: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        begin_writing(waiting, durable=True, wait_s=PATIENCE_S)
    assert not waiting.in_transaction
    assert patience_of(waiting) == 60_000
