"""Writers on PostgreSQL: those of one space wait for each other, those of several do not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta

import pytest

from tests.embedders import HashingEmbedder
from tests.postgres_server import empty_memory
from treering import Memory
from treering.errors import JournalBusy, JournalConflict, JournalVersionError
from treering.journal import claims, storage
from treering.journal.entries import micros
from treering.journal.postgres import database as postgres_database
from treering.journal.postgres.database import PostgresDatabase
from treering.journal.space import Space, SpaceWriter, register_model

TIMEOUT_S = 60


@pytest.fixture
def url() -> Iterator[str]:
    with empty_memory() as url:
        yield url


@pytest.fixture
def handles(url: str) -> Iterator[tuple[PostgresDatabase, PostgresDatabase]]:
    """The same database opened twice, as two servers have it."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(closing(PostgresDatabase(url))) for _ in range(2))
        yield first, second


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_database, "BUSY_TIMEOUT_S", 0.2)


def begin(database: PostgresDatabase, *spaces: str) -> None:
    for name in spaces:
        with Space(database, name).write() as writer:
            _ = writer.id


# ---------------------------------------------------------------------- who waits for whom


def test_a_writer_of_one_space_keeps_no_writer_of_another_waiting(
    handles: tuple[PostgresDatabase, PostgresDatabase], impatient: None
) -> None:
    first, second = handles
    with first.write("ana") as writer:
        numbers = list(writer.vector_numbers(2))
        with ThreadPoolExecutor(2) as threads:  # of another process, and of this one
            others = [threads.submit(take_numbers, handle) for handle in (second, first)]
            rest = [number for other in others for number in other.result(TIMEOUT_S)]
        assert len({*numbers, *rest}) == 6


def take_numbers(database: PostgresDatabase) -> list[int]:
    with database.write("ben") as writer:
        return list(writer.vector_numbers(2))


@pytest.mark.parametrize("held", ["ana", None])
@pytest.mark.parametrize("asked", ["ana", None])
def test_a_writer_waits_for_who_writes_what_it_may_write(
    handles: tuple[PostgresDatabase, PostgresDatabase],
    impatient: None,
    held: str | None,
    asked: str | None,
) -> None:
    first, second = handles
    with (
        first.write(held),
        ThreadPoolExecutor(1) as threads,
        pytest.raises(JournalBusy),
    ):
        threads.submit(lambda: second.write(asked).__enter__()).result(TIMEOUT_S)


def test_adds_to_many_spaces_at_once_lose_and_double_nothing(url: str) -> None:
    def fill(number: int) -> None:
        with Memory.open(
            f"{url}&pool=3", space=f"space {number % 3}", embedder=HashingEmbedder()
        ) as memory:
            for at in range(6):
                memory.add(f"Note {at} of {number}.", source=str(number))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(fill, range(6)))
    for name in range(3):
        with Memory.open(url, space=f"space {name}", embedder=HashingEmbedder()) as memory:
            texts = sorted(entry.text for entry in memory.entries())
            expected = [f"Note {at} of {n}." for n in (name, name + 3) for at in range(6)]
            assert texts == sorted(expected)
            stats = memory.settle()
            assert (stats.pending, stats.embedded) == ({}, 12)
            assert memory.check() == []


# ---------------------------------------------------------------------- what spaces share


def test_spaces_that_begin_with_the_same_model_at_once_share_it(
    handles: tuple[PostgresDatabase, PostgresDatabase],
) -> None:
    both = threading.Barrier(2)

    def register(number: int) -> int:
        with handles[number].write(f"space {number}") as writer:
            both.wait(TIMEOUT_S)
            return register_model(writer, "hashing", 8).id

    with ThreadPoolExecutor(2) as threads:
        assert len(set(threads.map(register, range(2)))) == 1


def test_a_table_that_two_spaces_make_at_once_is_made_once(
    handles: tuple[PostgresDatabase, PostgresDatabase],
) -> None:
    both = threading.Barrier(2)

    def make(number: int) -> None:
        with handles[number].write(f"space {number}") as writer:
            both.wait(TIMEOUT_S)
            writer.execute("CREATE TABLE IF NOT EXISTS shout (space INTEGER, word TEXT)")
            writer.execute("INSERT INTO shout VALUES (?, ?)", (number, "loud"))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(make, range(2)))
    with handles[0].read() as reader:
        assert reader.row("SELECT count(*) FROM shout") == (2,)


def test_what_is_kept_of_old_requests_goes_though_its_space_is_not_used(
    handles: tuple[PostgresDatabase, PostgresDatabase],
) -> None:
    first, second = handles
    old = micros(datetime.now(UTC) - timedelta(days=30))
    for name in ("ana", "ben"):
        with Space(first, name).write() as writer:
            writer.execute(
                "INSERT INTO reply (space, key, request, status, quotes, at)"
                " VALUES (?, ?, ?, 200, FALSE, ?)",
                (writer.id, b"key", b"request", old),
            )
    with first.write("ana") as writer:  # who is at work keeps nobody waiting, and nothing back
        writer.execute("UPDATE reply SET status = 201 WHERE status = 200 AND space = 1")
        with ThreadPoolExecutor(1) as threads:
            threads.submit(claims.expire, second).result(TIMEOUT_S)
        with second.read() as reader:
            assert reader.row("SELECT count(*) FROM reply") == (1,)
    claims.expire(second)
    with second.read() as reader:
        assert reader.row("SELECT count(*) FROM reply") == (0,)


def test_what_spaces_share_has_one_writer_at_a_time(
    handles: tuple[PostgresDatabase, PostgresDatabase], impatient: None
) -> None:
    first, second = handles

    def add() -> None:
        with second.write("ben") as writer:
            storage.add_blanked(writer, 100)

    with first.write("ana") as writer, ThreadPoolExecutor(1) as threads:
        threads.submit(take_numbers, second).result(TIMEOUT_S)
        storage.add_blanked(writer, 100)
        with pytest.raises(JournalBusy):
            threads.submit(add).result(TIMEOUT_S)
    add()
    with first.read() as reader:
        assert storage.blanked_bytes(reader) == 200


# ---------------------------------------------------------------------- conflicts and versions


@pytest.mark.parametrize("conflict", ["serialization_failure", "deadlock_detected"])
def test_a_change_that_the_server_ends_for_another_one_is_done_again_once(
    url: str, conflict: str
) -> None:
    attempts = 0

    def change(writer: SpaceWriter) -> None:
        nonlocal attempts
        attempts += 1
        writer.execute("UPDATE space SET settings = settings || 'x'")
        if attempts == 1:
            writer.execute(f"DO $$ BEGIN RAISE {conflict}; END $$")

    with closing(PostgresDatabase(url)) as database:
        begin(database, "ana")
        Space(database, "ana").change(change)
        with database.read() as reader:
            rows = list(reader.rows("SELECT settings FROM space"))
    assert (attempts, rows) == (2, [("{}x",)])


def test_a_newer_treering_that_changes_the_tables_meanwhile_is_noticed(
    handles: tuple[PostgresDatabase, PostgresDatabase],
) -> None:
    first, second = handles
    with first.write() as writer:
        writer.execute("UPDATE treering_version SET number = 9000")
    for transaction in (second.read, second.write, lambda: second.write("ana")):
        with pytest.raises(JournalVersionError), transaction():
            raise AssertionError("not reached")


def test_a_conflict_is_no_reason_to_try_for_ever(url: str) -> None:
    attempts = 0

    def change(_: SpaceWriter) -> None:
        nonlocal attempts
        attempts += 1
        raise JournalConflict("in a ring once more")

    with closing(PostgresDatabase(url)) as database, pytest.raises(JournalConflict):
        Space(database, "ana").change(change)
    assert attempts == 4
