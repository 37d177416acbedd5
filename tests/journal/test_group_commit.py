"""Changes that threads ask for at once share a transaction, and each of them stands alone."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.journal.conftest import OpenDatabase
from treering.errors import JournalBusy, JournalError, JournalFull
from treering.journal.contract import Database, Writer
from treering.journal.group_commit import (
    WAIT_S,
    OpenWriter,
    SharedScrubs,
    SharedWrites,
    _Batch,
    _Change,
)
from treering.journal.sqlite.database import SqliteDatabase
from treering.journal.sqlite.transaction import SqliteTransaction

TIMEOUT_S = 30.0
PAUSE_S = 0.001

Change = Callable[[Writer], str]


def named(name: str) -> Change:
    def change(writer: Writer) -> str:
        writer.execute("INSERT INTO space (name) VALUES (?)", (name,))
        # Read to its end, as views do: what the engine notes of it must outlive what is undone.
        assert list(writer.rows("SELECT name FROM space WHERE name = ?", (name,)))
        if name.startswith("bad"):
            raise LookupError(name)
        return name

    return change


def stored(database: Database) -> list[str]:
    with database.read() as reader:
        return sorted(str(row[0]) for row in reader.rows("SELECT name FROM space"))


class Gathering:
    """Changes that are asked for while another thread leads: it makes them after its own."""

    def __init__(self, database: Database, share_s: float = TIMEOUT_S) -> None:
        self.database = database
        self.shared = SharedWrites(share_s)
        self.transactions = 0
        self._held, self._go_on = threading.Event(), threading.Event()

    @contextmanager
    def write(self) -> Iterator[Writer]:
        self.transactions += 1
        with self.database.write() as writer:
            yield writer

    def run(self, changes: list[Change], write: OpenWriter | None = None) -> list[Future[str]]:
        """The first change and those given, which are asked for while it is under way; ended."""

        def first(writer: Writer) -> str:
            self._held.set()
            assert self._go_on.wait(TIMEOUT_S)
            return named("first")(writer)

        with ThreadPoolExecutor(len(changes) + 1) as threads:
            futures = [threads.submit(self.shared.run, first, self.write)]
            assert self._held.wait(TIMEOUT_S)
            for number, change in enumerate(changes, start=1):
                futures.append(threads.submit(self.shared.run, change, write or self.write))
                self._await(number)  # so that they are made in this order
            self._go_on.set()
        return futures

    def _await(self, waiting: int) -> None:
        until = time.monotonic() + TIMEOUT_S
        while len(self.shared._waiting) < waiting:
            assert time.monotonic() < until
            threading.Event().wait(PAUSE_S)


def test_changes_of_many_threads_are_all_stored(database: Database) -> None:
    names = [f"space {number:02}" for number in range(20)]
    with ThreadPoolExecutor(len(names)) as threads:
        done = threads.map(lambda name: database.write_together(named(name)), names)
        assert list(done) == names
    assert stored(database) == names


def test_changes_that_wait_are_made_in_one_transaction(database: Database) -> None:
    gathering = Gathering(database)
    futures = gathering.run([named("ana"), named("ben")])
    assert [future.result() for future in futures] == ["first", "ana", "ben"]
    assert gathering.transactions == 1
    assert stored(database) == ["ana", "ben", "first"]


def test_a_change_that_fails_takes_down_only_itself(database: Database) -> None:
    futures = Gathering(database).run([named("ana"), named("bad"), named("ben")])
    assert [future.exception() is None for future in futures] == [True, True, False, True]
    with pytest.raises(LookupError, match="bad"):
        futures[2].result()
    assert stored(database) == ["ana", "ben", "first"]


def test_a_statement_that_fails_takes_down_only_its_change(database: Database) -> None:
    futures = Gathering(database).run([named("ana"), named("ana"), named("ben")])
    assert isinstance(futures[2].exception(), JournalError)
    assert stored(database) == ["ana", "ben", "first"]


def test_nobody_is_told_of_success_if_the_transaction_fails(database: Database) -> None:
    gathering = Gathering(database)
    write = gathering.write

    @contextmanager
    def full() -> Iterator[Writer]:
        with write() as writer:
            yield writer
            raise JournalFull("no space left")

    gathering.write = full  # type: ignore[method-assign]
    futures = gathering.run([named("ana"), named("bad")])
    assert [type(future.exception()) for future in futures] == [
        JournalFull,
        JournalFull,
        LookupError,
    ]
    assert stored(database) == []


def test_a_transaction_that_cannot_begin_fails_only_who_asked_for_it(database: Database) -> None:
    gathering = Gathering(database, share_s=0.0)

    @contextmanager
    def busy() -> Iterator[Writer]:
        gathering.transactions += 1
        if gathering.transactions < 3:
            raise JournalBusy("another process kept writing")
        with database.write() as writer:
            yield writer

    futures = gathering.run([named("ana"), named("ben")], busy)
    outcomes = [type(future.exception()) for future in futures]
    assert outcomes[0] is type(None)
    assert sorted(map(str, outcomes[1:])) == sorted(map(str, [JournalBusy, type(None)]))
    assert len(stored(database)) == 2


def test_what_an_interrupted_thread_made_for_others_is_made_again(database: Database) -> None:
    tries: list[str] = []

    def interrupted(writer: Writer) -> str:
        tries.append("")
        if len(tries) == 1:
            raise KeyboardInterrupt
        return named("ben")(writer)

    futures = Gathering(database).run([named("ana"), interrupted])
    assert isinstance(futures[0].exception(), KeyboardInterrupt)
    assert [future.result() for future in futures[1:]] == ["ana", "ben"]
    assert stored(database) == ["ana", "ben"]


def test_what_an_interrupted_thread_has_stored_for_others_is_not_made_again(
    database: Database,
) -> None:
    gathering = Gathering(database)
    write = gathering.write

    @contextmanager
    def interrupted() -> Iterator[Writer]:
        with write() as writer:
            yield writer
        raise KeyboardInterrupt

    gathering.write = interrupted  # type: ignore[method-assign]
    futures = gathering.run([named("ana"), named("bad"), named("ben")])
    assert isinstance(futures[0].exception(), KeyboardInterrupt)
    assert isinstance(futures[2].exception(), LookupError)
    assert [futures[1].result(), futures[3].result()] == ["ana", "ben"]
    assert stored(database) == ["ana", "ben", "first"]
    assert gathering.transactions == 1


class Interrupted:
    """A connection; who uses it is interrupted as soon as it has done a statement, or refused."""

    def __init__(self, connection: Any, statement: str) -> None:
        self._connection = connection
        self._statement = statement

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, *params: Any, **options: Any) -> Any:
        try:
            return self._connection.execute(sql, *params, **options)
        finally:
            if sql == self._statement:
                raise KeyboardInterrupt


def interrupted_while_committing(gathering: Gathering) -> list[Future[str]]:
    """What comes of three changes whose thread is interrupted while the database stores them."""
    write = gathering.write

    @contextmanager
    def interrupted() -> Iterator[Writer]:
        with write() as writer:
            name = "connection" if hasattr(writer, "connection") else "_connection"
            if not isinstance(getattr(writer, name), Interrupted):
                setattr(writer, name, Interrupted(getattr(writer, name), "COMMIT"))
            yield writer

    gathering.write = interrupted  # type: ignore[method-assign]
    futures = gathering.run([named("ana"), named("ben")])
    assert isinstance(futures[0].exception(), KeyboardInterrupt)
    return futures[1:]


def test_who_is_interrupted_while_committing_leaves_others_their_own_result(
    open_database: OpenDatabase,
) -> None:
    database = open_database()
    futures = interrupted_while_committing(Gathering(database))
    assert stored(database) == ["ana", "ben", "first"]
    if isinstance(database, SqliteDatabase):
        assert [future.result() for future in futures] == ["ana", "ben"]
        return
    # A server may have committed or not: nobody is told that nothing is there.
    for future in futures:
        with pytest.raises(JournalError, match="may be stored or not; look whether it is there"):
            future.result()


def test_an_error_that_was_there_before_says_nothing_of_an_interrupted_commit(
    tmp_path: Path,
) -> None:
    with closing(SqliteDatabase(tmp_path / "life.db")) as database:
        try:
            raise sqlite3.OperationalError("of another file")
        except sqlite3.OperationalError:
            with pytest.raises(KeyboardInterrupt), database.write() as writer:
                assert isinstance(writer, SqliteTransaction)
                writer._connection = Interrupted(writer._connection, "COMMIT")  # type: ignore[assignment]
        assert writer.outcome == "stored"


def test_nobody_is_told_of_success_where_the_file_had_gone_before_the_interruption(
    tmp_path: Path,
) -> None:
    path = tmp_path / "life.db"
    with closing(SqliteDatabase(path)) as database:
        gathering = Gathering(database)
        write = gathering.write

        @contextmanager
        def moved() -> Iterator[Writer]:
            with write() as writer:
                yield writer
                if path.exists():
                    path.rename(tmp_path / "elsewhere.db")

        gathering.write = moved  # type: ignore[method-assign]
        for future in interrupted_while_committing(gathering):
            with pytest.raises(JournalError, match="may be stored or not"):
                future.result()


def test_nobody_is_told_of_success_where_committing_failed_before_the_interruption(
    tmp_path: Path,
) -> None:
    with closing(SqliteDatabase(tmp_path / "life.db")) as database:
        gathering = Gathering(database)
        write = gathering.write

        @contextmanager
        def refused() -> Iterator[Writer]:
            with write() as writer:
                yield writer
                writer.execute("ROLLBACK")  # as SQLite does by itself where a disk fails

        gathering.write = refused  # type: ignore[method-assign]
        for future in interrupted_while_committing(gathering):
            with pytest.raises(JournalError, match="may be stored or not"):
                future.result()
        assert stored(database) == []


def test_who_is_interrupted_again_while_leaving_keeps_nobody_waiting(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave = SharedWrites._leave
    interruptions: list[str] = []

    def interrupted(shared: SharedWrites, batch: _Batch) -> None:
        if not interruptions:
            interruptions.append("")
            raise KeyboardInterrupt
        leave(shared, batch)

    monkeypatch.setattr(SharedWrites, "_leave", interrupted)
    futures = Gathering(database).run([named("ana"), named("ben")])
    assert isinstance(futures[0].exception(TIMEOUT_S), KeyboardInterrupt)
    assert [future.result(TIMEOUT_S) for future in futures[1:]] == ["ana", "ben"]
    assert stored(database) == ["ana", "ben", "first"]


def test_who_has_stopped_waiting_keeps_no_other_waiting(database: Database) -> None:
    shared = SharedWrites(TIMEOUT_S)
    tries: list[str] = []
    gone = _Change(named("gone"), shared._lock)
    last = list[Future[str]]()

    def first(writer: Writer) -> str:
        shared._waiting.append(gone)  # taken in next, and by then nobody waits for it
        last.append(threads.submit(shared.run, interrupted, database.write))
        until = time.monotonic() + TIMEOUT_S
        while len(shared._waiting) < 2:
            assert time.monotonic() < until
            threading.Event().wait(PAUSE_S)
        shared._leave(_Batch(gone))
        shared._waiting.insert(0, gone)
        return named("first")(writer)

    def interrupted(writer: Writer) -> str:
        tries.append("")
        if len(tries) == 1:
            raise KeyboardInterrupt
        return named("ben")(writer)

    with ThreadPoolExecutor(2) as threads:
        leader = threads.submit(shared.run, first, database.write)
        assert isinstance(leader.exception(TIMEOUT_S), KeyboardInterrupt)
        assert last[0].result(WAIT_S / 2) == "ben"
    assert stored(database) == ["ben"]


# ------------------------------------------------------------------------------- shared scrubbing


class Scrubbing:
    """A scrubbing that lasts until it is told to end, and others that are asked for meanwhile."""

    def __init__(self, *outcomes: bool | BaseException) -> None:
        self.shared = SharedScrubs()
        self.done: list[Collection[str]] = []
        self._outcomes = iter(outcomes)
        self._begun, self._go_on = threading.Event(), threading.Event()

    def scrub(self, tables: Collection[str]) -> bool:
        self.done.append(tables)
        self._begun.set()
        assert self._go_on.wait(TIMEOUT_S)
        outcome = next(self._outcomes, True)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def run(self, *names: str) -> list[Future[bool]]:
        """The scrubbing of a first table, and then of these; ended."""
        with ThreadPoolExecutor(len(names) + 1) as threads:
            futures = [threads.submit(self.shared.run, ["first"], self.scrub)]
            assert self._begun.wait(TIMEOUT_S)
            futures += [threads.submit(self.shared.run, [name], self.scrub) for name in names]
            until = time.monotonic() + TIMEOUT_S
            while len(self.shared._next.tables) < len(names):
                assert time.monotonic() < until
                threading.Event().wait(PAUSE_S)
            self._go_on.set()
        return futures


def test_scrubbings_that_wait_are_done_together() -> None:
    scrubbing = Scrubbing(True, False)
    assert [future.result() for future in scrubbing.run("ana", "ben")] == [True, False, False]
    assert scrubbing.done == [{"first"}, {"ana", "ben"}]


def test_a_scrubbing_that_fails_is_an_error_for_all_that_wait_for_it() -> None:
    scrubbing = Scrubbing(True, JournalFull("no space left"))
    first, *others = scrubbing.run("ana", "ben")
    assert first.result()
    assert [type(future.exception()) for future in others] == [JournalFull, JournalFull]
    assert scrubbing.shared.run(["next"], scrubbing.scrub)


def test_an_interrupted_scrubbing_is_done_by_another_thread() -> None:
    scrubbing = Scrubbing(True, KeyboardInterrupt(), True)
    first, *others = scrubbing.run("ana", "ben")
    assert first.result()
    outcomes = {type(future.exception()) for future in others}
    assert outcomes == {KeyboardInterrupt, type(None)}
    assert len(scrubbing.done) == 3
