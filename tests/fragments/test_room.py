"""Columns of many spaces of one process: those that were not used for longest go."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Open
from treering.errors import InputError
from treering.journal.contract import Database
from treering.journal.open import open_database
from treering.journal.space import Space
from treering.views.fragments.columns import LIMIT_VARIABLE, ROOM, Room, read_limit
from treering.views.fragments.table import Table

SPACES = ("a", "b", "c")
SIZE = 3  # fragments of each


@pytest.fixture
def filled(path: Path, open_memory: Open) -> Path:
    for name in SPACES:
        memory = open_memory(path, space=name)
        memory.add([{"role": "user", "content": f"{name} says {n}"} for n in range(SIZE)])
    return path


def use(table: Table) -> int:
    with table.reading() as (_, snapshot):
        return len(snapshot or ())


@pytest.fixture
def database(filled: Path) -> Iterator[Database]:
    with closing(open_database(filled)) as opened:
        yield opened


def tables(database: Database, room: Room) -> list[Table]:
    return [Table(Space(database, name), room=room) for name in SPACES]


def test_the_columns_that_were_not_used_for_longest_go_and_are_loaded_again(
    database: Database,
) -> None:
    room = Room(2 * SIZE)
    first, second, third = tables(database, room)
    assert [use(table) for table in (first, second, first, third)] == [SIZE] * 4
    assert [table.is_loaded for table in (first, second, third)] == [True, False, True]
    assert room.size == 2 * SIZE
    assert use(second) == SIZE
    assert not first.is_loaded


def test_a_search_under_way_keeps_its_columns(database: Database) -> None:
    first, second, _ = tables(database, Room(1))
    with first.reading() as (reader, snapshot):
        use(second)
        assert snapshot is not None
        assert len(snapshot) == SIZE
        assert len(first.spans(reader, snapshot.fragment.tolist())) == SIZE


def test_without_a_limit_all_stay_and_what_is_closed_is_not_counted(database: Database) -> None:
    room = Room()
    opened = tables(database, room)
    for table in opened:
        use(table)
    assert room.size == len(SPACES) * SIZE
    del table, opened
    gc.collect()
    assert room.size == 0


def test_the_environment_limits_what_the_memories_of_a_process_hold(
    filled: Path, open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, str(SIZE))
    memories = [open_memory(filled, space=name) for name in SPACES]
    for _ in range(2):
        for name, memory in zip(SPACES, memories, strict=True):
            assert memory.search(f"{name} says 1", k=1)[0].text == f"{name} says 1"
            assert ROOM.size == SIZE
    monkeypatch.setenv(LIMIT_VARIABLE, "many")
    with pytest.raises(InputError, match="'many'; give a whole number"):
        read_limit()
