"""The contract of a database, on every backend."""

from __future__ import annotations

import gc
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.journal.conftest import OpenDatabase
from treering.errors import JournalCorrupt, JournalError
from treering.journal.contract import Database, Reader
from treering.journal.sqlite.database import SqliteDatabase
from treering.journal.sqlite.pool import MOST_FREE

of_sqlite = pytest.mark.parametrize("open_database", ["sqlite"], indirect=True)
"""What is asked of the bytes of a file, and of how they are scrubbed."""


def put(database: Database, *names: str) -> None:
    with database.write() as writer:
        writer.many("INSERT INTO space (name) VALUES (?)", ((name,) for name in names))


def names(reader: Reader) -> list[str]:
    return [row[0] for row in reader.rows("SELECT name FROM space ORDER BY id")]


def stored(database: Database) -> list[str]:
    with database.read() as reader:
        return names(reader)


def test_a_write_is_there_for_everybody_once_it_has_ended(open_database: OpenDatabase) -> None:
    one, other = open_database(), open_database()
    put(one, "ana")
    assert stored(one) == stored(other) == ["ana"]


def test_a_write_that_raises_leaves_no_trace(database: Database) -> None:
    put(database, "ana")
    with pytest.raises(LookupError), database.write() as writer:
        writer.execute("INSERT INTO space (name) VALUES ('ben')")
        writer.execute("DELETE FROM space WHERE name = 'ana'")
        raise LookupError
    assert stored(database) == ["ana"]
    put(database, "cem")
    assert stored(database) == ["ana", "cem"]


def test_rows_inserted_together_get_ids_in_their_order(database: Database) -> None:
    sql = "INSERT INTO space (name) VALUES (?) RETURNING id"
    with database.write() as writer:
        assert writer.insert_many(sql, ()) == []
        [first] = writer.insert_many(sql, [("ana",)])
        ids = writer.insert_many(sql, [("dov",), ("ben",), ("cem",)])
        assert ids == sorted(ids)
        assert ids[0] > first
        named = writer.rows("SELECT id, name FROM space ORDER BY id")
        assert [tuple(row) for row in named] == [
            (first, "ana"),
            *zip(ids, ("dov", "ben", "cem"), strict=True),
        ]


def test_a_read_inside_a_read_sees_the_same_state(open_database: OpenDatabase) -> None:
    database, other = open_database(), open_database()
    with database.read() as outer:
        assert names(outer) == []
        put(other, "ana")
        with database.read() as inner:
            assert names(inner) == []
        assert names(outer) == []
    assert stored(database) == ["ana"]


def test_a_read_inside_a_write_sees_what_is_being_written(database: Database) -> None:
    with database.write() as writer:
        writer.execute("INSERT INTO space (name) VALUES ('ana')")
        with database.read() as reader:
            assert names(reader) == ["ana"]
        writer.execute("INSERT INTO space (name) VALUES ('ben')")
    assert stored(database) == ["ana", "ben"]


@pytest.mark.parametrize("outside", ["read", "write"])
def test_a_write_inside_another_transaction_of_the_thread_is_refused(
    database: Database, outside: str
) -> None:
    with (
        getattr(database, outside)(),
        pytest.raises(JournalError, match="inside another"),
        database.write(),
    ):
        raise AssertionError("not reached")
    put(database, "ana")
    assert stored(database) == ["ana"]


def test_writers_of_many_threads_wait_for_each_other(open_database: OpenDatabase) -> None:
    handles = [open_database(), open_database()]
    with handles[0].write() as writer:
        writer.execute("INSERT INTO model (name, dimension) VALUES ('m', 0)")

    def count(number: int) -> None:
        with handles[number % 2].write() as writer:
            row = writer.row("SELECT dimension FROM model")
            assert row is not None
            writer.execute("UPDATE model SET dimension = ?", (row[0] + 1,))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(40)))
    with handles[0].read() as reader:
        assert reader.row("SELECT dimension FROM model") == (40,)


@of_sqlite
def test_rows_are_fetched_as_they_are_consumed(database: Database) -> None:
    with database.read() as reader:
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        assert next(reader.rows(endless)) == (1,)


def test_ids_of_erased_rows_are_never_given_again(database: Database) -> None:
    """Tables in memory and other processes tell rows by them."""
    seen = set()
    for _ in range(3):
        with database.write() as writer:
            new = writer.insert_many("INSERT INTO space (name) VALUES ('ana') RETURNING id", [()])
            seen.update(new)
        with database.write() as writer:
            writer.execute("DELETE FROM space")
        database.scrub(())
    assert len(seen) == 3


def test_a_row_that_points_to_nothing_is_refused(database: Database) -> None:
    with pytest.raises(JournalError), database.write() as writer:
        writer.execute("INSERT INTO source (space, hash, name) VALUES (99, 'nowhere', 1)")


def test_values_come_back_as_they_were(database: Database) -> None:
    values = (None, -(2**63), 2**63 - 1, 0.1, "é\n😀", b"\0\xff")
    with database.read() as reader:
        assert reader.row("SELECT ?, ?, ?, ?, ?, ?", values) == values
        assert reader.row("SELECT 1 WHERE 1 = 0") is None


@of_sqlite
def test_scrub_removes_what_was_blanked_and_what_was_deleted_from_its_tables(
    database: Database, path: Path
) -> None:
    # SQLite zeroes what it deletes, but now and then leaves a copy of a row that it has moved:
    # with this seed and these sizes, of two.
    rng = random.Random(2)
    words = [
        f"ana's secret {rng.getrandbits(64):x} {'x' * rng.randrange(400)}"[::-1]
        for _ in range(2_000)
    ]
    with database.write() as writer:
        writer.many("INSERT INTO label (text) VALUES (?)", ((word[::-1],) for word in words))
        writer.execute("CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT UNIQUE)")
        writer.many("INSERT INTO word (text) VALUES (?)", ((word,) for word in words))
    gone = rng.sample(words, 1_900)
    for start in range(0, len(gone), 100):
        with database.write() as writer:
            writer.many("DELETE FROM word WHERE text = ?", ((word,) for word in gone[start:][:100]))
            places = [words.index(word) + 1 for word in gone[start:][:100]]
            writer.blank("label", ["text"], 1, places)
    assert database.scrub(["word", "no table"])
    stored_bytes = b"".join(file.read_bytes() for file in path.parent.iterdir())
    for word in gone:
        assert word.strip("x ").encode() not in stored_bytes
        assert word[::-1].strip("x ").encode() not in stored_bytes
    left = sorted(set(words) - set(gone))
    with database.read() as reader:
        assert [row[0] for row in reader.rows("SELECT text FROM word ORDER BY text")] == left
        shown = {row[0] for row in reader.rows("SELECT text FROM label")}
        assert {word[::-1] for word in left} == {text for text in shown if isinstance(text, str)}


def test_large_values_are_read_and_overwritten_in_part(database: Database) -> None:
    rng = np.random.default_rng(7)
    expected: dict[int, bytearray] = {}
    put(database, "life")
    space = 1
    with database.write("life") as writer:
        for size in (0, 1, 1_999, 2_000, 2_001, 9_000):
            expected[writer.allot("block_postings", size, space)] = bytearray(size)
    with database.write("life") as writer:
        for identity, value in expected.items():
            places = rng.integers(0, max(len(value), 1), 30).tolist()
            patches = [(place, rng.bytes(min(900, len(value) - place))) for place in places]
            for place, data in patches:
                value[place : place + len(data)] = data
            writer.patch("block_postings", (space, identity), patches)
    with database.read() as reader:
        for identity, value in expected.items():
            assert reader.extent("block_postings", (space, identity)) == len(value)
            for start, size in ((0, 9_999), (1_990, 20), (2_000, 1), (8_999, 5), (9_000, 5)):
                part = reader.part("block_postings", (space, identity), start, size)
                assert part == bytes(value[start : start + size])
        assert reader.extent("block_postings", (space, 99)) is None
        assert reader.part("block_postings", (space, 99), 0, 5) == b""
    for where, start in ((identity, 8_999), (99, 0)):
        with pytest.raises(JournalCorrupt), database.write() as writer:
            writer.patch("block_postings", (space, where), [(0, b"lost"), (start, b"xx")])
    with database.write("life") as writer:
        assert writer.allot("block_rows", 5, space, 77) == 77
        writer.blank("block_postings", ("data",), space, [identity])
    with database.read() as reader:
        assert not any(reader.part("block_postings", (space, identity), 0, 9_000))


def test_after_close_the_database_says_that_it_is_closed(database: Database) -> None:
    database.close()
    database.close()
    for transaction in (database.read, database.write):
        with pytest.raises(JournalError, match="closed"), transaction():
            raise AssertionError("not reached")


def test_closing_under_a_reader_raises_an_error_of_ours(database: Database) -> None:
    put(database, "ana", "ben")
    with pytest.raises(JournalError, match="closed"), database.read() as reader:
        database.close()
        names(reader)


def test_rows_may_be_dropped_after_the_database_was_closed(database: Database) -> None:
    put(database, "ana", "ben")
    dropped: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "unraisablehook", dropped.append)
        with database.read() as reader:
            rows = reader.rows("SELECT name FROM space")
            next(iter(rows))
        database.close()
        del rows
        gc.collect()
    assert not dropped


def test_indexes_are_made_anew_and_lead_to_what_is_stored(database: Database) -> None:
    put(database, "ana", "ben")
    database.reindex()
    assert stored(database) == ["ana", "ben"]
    assert database.check() == []


@of_sqlite
def test_threads_take_the_connections_that_are_free(database: Database) -> None:
    """A server with a thread a request would open a connection a request."""

    def in_a_thread() -> None:
        thread = threading.Thread(target=stored, args=(database,))
        thread.start()
        thread.join()

    in_a_thread()
    before = _open_files(database)
    for _ in range(20):
        in_a_thread()
    assert _open_files(database) == before


def _open_files(database: Database) -> int:
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum(database.url in str(link.readlink()) for link in links)


@of_sqlite
def test_few_of_many_connections_are_kept(database: Database) -> None:
    assert isinstance(database, SqliteDatabase)
    size = MOST_FREE + 4
    inside = threading.Barrier(size, timeout=30.0)

    def read(_: int) -> None:
        with database.read() as reader:
            inside.wait()
            reader.row("SELECT 1")

    with ThreadPoolExecutor(size) as threads:
        list(threads.map(read, range(size)))
    assert len(database._pool._free) == MOST_FREE
