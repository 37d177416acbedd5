"""What only PostgreSQL has: URLs, passwords, pools, schemas, and servers that go away."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from tests.embedders import HashingEmbedder
from tests.postgres_server import PostgresServer, new_schema, server_url
from tests.programs import Program
from treering import Memory
from treering.errors import (
    InputError,
    JournalBusy,
    JournalError,
    JournalVersionError,
    UnknownMemory,
)
from treering.journal import open as opening
from treering.journal import storage
from treering.journal.open import open_database
from treering.journal.postgres import database as postgres_database
from treering.journal.postgres import schema
from treering.journal.postgres.database import PostgresDatabase
from treering.journal.postgres.location import Location
from treering.journal.postgres.statements import ESCAPE, escape, unescape
from treering.views import erase

WORKER = """
import sys, time
from tests.embedders import HashingEmbedder
from treering import Memory
with Memory.open(sys.argv[1], embedder=HashingEmbedder()) as memory:
    if sys.argv[2] == "presence":
        print(memory._database.presence(), flush=True)
        time.sleep(60)
    for number in range(int(sys.argv[3])):
        memory.add(f"Note {number} of {sys.argv[2]}.", source=sys.argv[2])
        print(number, flush=True)
"""


@pytest.fixture
def url() -> str:
    return new_schema()


@pytest.fixture
def opened(url: str) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(url)) as database:
        yield database


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that a test may kill."""
    with ExitStack() as stack:
        server = PostgresServer()
        stack.callback(server.stop)
        server.start()
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erase, "WAIT_S", 0.05)


def put(database: PostgresDatabase, name: str) -> None:
    with database.write() as writer:
        writer.execute("INSERT INTO space (name) VALUES (?)", (name,))


def names(database: PostgresDatabase) -> list[str]:
    with database.read() as reader:
        return [str(row[0]) for row in reader.rows("SELECT name FROM space ORDER BY id")]


def worker(*arguments: str) -> subprocess.Popen[str]:
    return Program(
        [sys.executable, "-c", WORKER, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


# ---------------------------------------------------------------------- where it is


@pytest.mark.parametrize(
    ("url", "shown", "name", "pool"),
    [
        (
            "postgresql://ana:secret@db.example:5433/life",
            "postgresql://ana@db.example:5433/life",
            "treering",
            16,
        ),
        (
            "postgres://ana@/life?password=secret&schema=team&pool=4&sslmode=require",
            "postgresql://ana@/life?schema=team",
            "team",
            4,
        ),
        (
            "postgresql://?service=life&sslpassword=secret",
            "postgresql:///?service=life",
            "treering",
            16,
        ),
    ],
)
def test_a_url_is_shown_without_what_is_secret_in_it(
    url: str, shown: str, name: str, pool: int
) -> None:
    location = Location.parse(url)
    assert (location.shown, location.schema, location.pool) == (shown, name, pool)
    assert opening.shown_url(url) == shown
    assert "schema" not in location.conninfo
    assert "pool" not in location.conninfo


def test_a_url_that_cannot_be_read_is_refused_without_being_quoted() -> None:
    cases = [
        ("postgresql://ana:top/secret@db/life", "not a URL of PostgreSQL"),
        ("postgresql://ana:1/secret@db/life", "not a URL of PostgreSQL"),
        ("postgresql://ana@db/life?nonsense=secret", "not a URL of PostgreSQL"),
        ("postgresql://db/life?schema=Team", "schema is 'Team'"),
        ("postgresql://db/life?schema=pg_temp", "schema is 'pg_temp'"),
        ("postgresql://db/life?pool=0", "pool is '0'"),
    ]
    for url, words in cases:
        with pytest.raises(InputError, match=words) as raised:
            open_database(url)
        assert "secret" not in str(raised.value)


def test_a_server_that_is_not_there_is_named_without_the_password(tmp_path: Path) -> None:
    url = f"postgresql://ana:secret@/life?host={tmp_path}"
    with pytest.raises(JournalError, match="Check that it runs") as raised:
        open_database(url)
    assert str(tmp_path) in str(raised.value)
    assert "secret" not in str(raised.value)


def test_the_usual_ways_of_libpq_say_where_the_server_is(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = psycopg.conninfo.conninfo_to_dict(server_url())
    lines = [f"{key}={value}" for key, value in given.items()]
    service = tmp_path / "services"
    service.write_text("\n".join(["[life]", *lines, ""]), "utf-8")
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    name = Location.parse(url).schema
    with closing(open_database(f"postgresql://?service=life&schema={name}")) as database:
        assert database.url == f"postgresql:///?service=life&schema={name}"
        assert database.size() > 0


# ---------------------------------------------------------------------- statements and texts


@pytest.mark.parametrize("text", ["", "a\0b", f"{ESCAPE}0", f"\0{ESCAPE}", "é\n😀", "0\0001"])
def test_every_text_comes_back_and_is_found(opened: PostgresDatabase, text: str) -> None:
    assert unescape(escape(text)) == text
    put(opened, text)
    put(opened, "another")
    assert names(opened) == [text, "another"]
    with opened.read() as reader:
        found = reader.row(
            "SELECT name FROM space WHERE name = ? AND name IN (SELECT value FROM json_each(?))",
            (text, f'["{text}"]'.replace("\n", "\\n").replace("\0", "\\u0000")),
        )
    assert found == (text,)


def test_a_lone_surrogate_is_refused_and_nothing_is_stored(opened: PostgresDatabase) -> None:
    with pytest.raises(InputError, match="cannot be stored"):
        put(opened, "a\ud800")
    assert names(opened) == []


def test_both_engines_make_the_same_tables(opened: PostgresDatabase, tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "life.db")) as file, file.read() as reader:
        in_file = {table.name: table for table in reader.tables()}
    with opened.read() as reader:
        there = {table.name: table for table in reader.tables()}
    assert there.pop("treering_version").columns == ("number",)
    for table in there.values():  # large values stand in pieces, and all that is read has a space
        more = {"piece", "space"} - set(in_file[table.name].columns)
        columns = tuple(name for name in table.columns if name not in more)
        there[table.name] = replace(table, columns=columns, texts=table.texts - more)
    assert there.keys() == in_file.keys()
    for name, table in there.items():
        assert sorted(table.columns) == sorted(in_file[name].columns), name
        assert table.texts == in_file[name].texts, name


# ---------------------------------------------------------------------- schemas


def test_a_memory_that_is_not_there_is_not_made_unless_it_may_be(url: str) -> None:
    with pytest.raises(UnknownMemory):
        open_database(url, create=False)
    open_database(url).close()
    open_database(url, create=False).close()


def test_a_schema_of_another_program_is_left_alone(url: str) -> None:
    name = Location.parse(url).schema
    with psycopg.connect(Location.parse(url).conninfo) as connection:
        connection.execute(f'CREATE SCHEMA "{name}"')
        connection.execute(f'CREATE TABLE "{name}".invoice (id BIGINT)')
    with pytest.raises(JournalError, match="tables of another program"):
        open_database(url)


def test_many_processes_may_make_the_same_memory_at_once(url: str) -> None:
    errors: list[Exception] = []

    def make() -> None:
        try:
            open_database(url).close()
        except JournalError as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_user_without_rights_is_told_so(url: str) -> None:
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE nothing LOGIN; EXCEPTION WHEN duplicate_object THEN END $$"
        )
    given = psycopg.conninfo.conninfo_to_dict(url.partition("&schema")[0]) | {"user": "nothing"}
    if "password" in given:
        pytest.skip("the server that is named wants passwords")
    host, name = given["host"], Location.parse(url).schema
    with pytest.raises(JournalError, match="permission denied"):
        open_database(f"postgresql://nothing@/postgres?host={host}&schema={name}")


def test_a_database_that_cannot_store_every_text_is_refused(url: str) -> None:
    name = f"{Location.parse(url).schema}_ascii"
    with closing(psycopg.connect(server_url(), autocommit=True)) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
            " LOCALE_PROVIDER libc"
        )
        try:
            with pytest.raises(JournalError, match="as SQL_ASCII; make one with ENCODING 'UTF8'"):
                open_database(f"{server_url().replace('/postgres?', f'/{name}?')}")
        finally:
            connection.execute(f"DROP DATABASE {name}")


def test_an_old_server_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MIN_SERVER", 990_000)
    with pytest.raises(JournalVersionError):
        open_database(url)


# ---------------------------------------------------------------------- pools and processes


def test_who_finds_no_connection_is_told_that_all_are_in_use(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_database, "POOL_TIMEOUT_S", 0.2)
    errors: list[Exception] = []
    with closing(PostgresDatabase(f"{url}&pool=1")) as database:
        put(database, "ana")

        def read() -> None:
            try:
                names(database)
            except JournalBusy as error:
                errors.append(error)

        with database.read() as reader:
            thread = threading.Thread(target=read)
            thread.start()
            thread.join()
            assert reader.row("SELECT name FROM space") == ("ana",)
        assert [str(error).partition(": ")[2] for error in errors] == [
            "all connections of this process are in use; try again, or give the URL a larger pool=…"
        ]
        assert names(database) == ["ana"]


def test_a_server_that_has_no_connection_left_says_so_and_nothing_is_lost(url: str) -> None:
    name = f"{Location.parse(url).schema}_few"
    given = psycopg.conninfo.conninfo_to_dict(url.partition("&schema")[0])
    if "password" in given:
        pytest.skip("the server that is named wants passwords")
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute(f"CREATE SCHEMA {name} AUTHORIZATION {name}")
    few = f"postgresql://{name}@/postgres?host={given['host']}&schema={name}"
    with closing(PostgresDatabase(few)) as database:
        put(database, "ana")
        with psycopg.connect(server_url(), autocommit=True) as connection:
            connection.execute(f"ALTER ROLE {name} CONNECTION LIMIT 0")
        with pytest.raises(JournalError, match=r"too many connections .* nothing of this"):
            open_database(few)
        assert names(database) == ["ana"]


def test_a_process_is_present_until_it_is_killed(opened: PostgresDatabase, url: str) -> None:
    assert opened.is_present(opened.presence())
    with worker(url, "presence", "0") as process:
        assert process.stdout is not None
        number = int(process.stdout.readline())
        assert number != opened.presence()
        assert opened.is_present(number)
        process.kill()
        process.wait()
    until = threading.Event()
    for _ in range(200):  # the server notices within moments that nobody is at the other end
        if not opened.is_present(number):
            break
        until.wait(0.05)
    assert not opened.is_present(number)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_opens_connections_of_its_own(opened: PostgresDatabase, url: str) -> None:
    put(opened, "parent")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            with pytest.raises(JournalError, match="forked"):
                put(opened, "refused")
            opened.close()
            own = PostgresDatabase(url)
            put(own, "child")
            status = 0 if names(own) == ["parent", "child"] else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    put(opened, "again")
    assert names(opened) == ["parent", "child", "again"]


def test_a_connection_that_is_cut_fails_one_change_and_is_replaced(
    opened: PostgresDatabase,
) -> None:
    put(opened, "ana")
    with pytest.raises(JournalError, match="nothing of this change"), opened.write() as writer:
        row = writer.row("SELECT pg_backend_pid()")
        assert row is not None
        with psycopg.connect(server_url(), autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", (row[0],))
        for _ in range(10_000):
            writer.execute("INSERT INTO space (name) VALUES ('ben') ON CONFLICT DO NOTHING")
    assert names(opened) == ["ana"]
    put(opened, "cem")
    assert names(opened) == ["ana", "cem"]


# ---------------------------------------------------------------------- erasing


def test_what_was_forgotten_is_in_no_row_that_anybody_can_read(url: str) -> None:
    with Memory.open(url, embedder=HashingEmbedder()) as memory:
        memory.add("Ana hides a zanzibar.", source="a")
        memory.add("Ben likes trains.", source="b")
        assert memory.forget(source="a").scrubbed
        with memory._database.read() as reader:
            for table in reader.tables():
                rows = list(reader.rows(f"SELECT CAST(t.* AS TEXT) FROM {table.name} t"))
                assert "zanzibar" not in str(rows)
            dead = reader.row(
                "SELECT sum(n_dead_tup) FROM pg_stat_user_tables"
                " WHERE schemaname = current_schema() AND relname = 'body'"
            )
        assert dead is not None
        assert memory.stats().pending == {}


@pytest.mark.usefixtures("impatient")
def test_erased_rows_that_an_older_reader_may_see_stay_pending(url: str) -> None:
    with Memory.open(url, embedder=HashingEmbedder()) as memory:
        memory.add("Ana hides a zanzibar.", source="a")
        with closing(PostgresDatabase(url)) as other, other.read() as reader:
            assert reader.row("SELECT count(*) FROM entry") == (1,)
            assert not memory.forget(source="a").scrubbed
            assert memory.stats().pending
        memory.settle()
        assert memory.stats().pending == {}


@pytest.mark.usefixtures("impatient")
def test_who_wrote_elsewhere_and_has_not_ended_keeps_erased_rows_pending(url: str) -> None:
    """Such a transaction has a number but, between two statements, no snapshot."""
    with Memory.open(url, embedder=HashingEmbedder()) as memory:
        memory.add("Ana hides a zanzibar.", source="a")
        with psycopg.connect(server_url()) as other:
            other.execute("SELECT pg_current_xact_id()")
            assert not memory.forget(source="a").scrubbed
            assert memory.stats().pending
        memory.settle()
        assert memory.stats().pending == {}


@pytest.mark.usefixtures("impatient")
def test_a_prepared_transaction_keeps_erased_rows_pending(own_server: PostgresServer) -> None:
    with psycopg.connect(own_server.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET max_prepared_transactions = 1")
    own_server.kill()
    own_server.start()
    with (
        Memory.open(own_server.url, embedder=HashingEmbedder()) as memory,
        psycopg.connect(own_server.url, autocommit=True) as other,
    ):
        memory.add("Ana hides a zanzibar.", source="a")
        other.execute("BEGIN")
        other.execute("CREATE TABLE public.elsewhere (a INT)")
        other.execute("PREPARE TRANSACTION 'left open'")
        assert not memory.forget(source="a").scrubbed
        other.execute("ROLLBACK PREPARED 'left open'")
        memory.settle()
        assert memory.stats().pending == {}


def test_tables_are_written_anew_where_that_is_due(url: str) -> None:
    with Memory.open(url, embedder=HashingEmbedder()) as memory:
        memory.add("Ben likes trains.", source="b")
        with memory._space.write() as writer:
            writer.execute("INSERT INTO label (text) VALUES ('of no source')")
            storage.set_rewrite_due(writer)
        memory.settle()
        with memory._space.read() as reader:
            assert not storage.is_rewrite_due(reader)
            assert [row[0] for row in reader.rows("SELECT text FROM label")] == ["b"]
        assert [hit.text for hit in memory.search("trains")] == ["Ben likes trains."]


def test_tables_of_another_owner_are_not_said_to_be_scrubbed(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = Location.parse(url).schema
    given = psycopg.conninfo.conninfo_to_dict(server_url())
    if "password" in given:
        pytest.skip("the server that is named wants passwords")
    with Memory.open(url, embedder=HashingEmbedder()) as memory:
        memory.add("Ana hides a zanzibar.", source="a")
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name}_user LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {name} TO {name}_user")
        rights = "SELECT, INSERT, UPDATE, DELETE"
        connection.execute(f"GRANT {rights} ON ALL TABLES IN SCHEMA {name} TO {name}_user")
        connection.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA {name} TO {name}_user")
    limited = f"postgresql://{name}_user@/postgres?host={given['host']}&schema={name}"
    with Memory.open(limited, embedder=HashingEmbedder()) as memory:
        assert not memory.forget(source="a").scrubbed
        assert memory.stats().pending
    assert "permission denied to vacuum" in caplog.text
    with Memory.open(url, embedder=HashingEmbedder()) as memory:
        memory.settle()
        assert memory.stats().pending == {}
