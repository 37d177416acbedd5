"""Row-level security on PostgreSQL: a statement that forgets the space sees no rows of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import psycopg
import pytest
from psycopg.rows import TupleRow

from tests.embedders import HashingEmbedder
from tests.journal.test_named_spaces import OF_ALL_SPACES, OF_THE_WHOLE, without_space
from tests.postgres_server import new_schema, server_url
from tests.views.conftest import fill
from treering import Memory
from treering.errors import JournalError
from treering.journal import staged
from treering.journal.postgres import schema, transaction
from treering.journal.postgres.database import PostgresDatabase
from treering.journal.postgres.dialect import PostgresStatement, translated
from treering.journal.postgres.location import Location
from treering.serve import keys

SHARED = {"space", "model", "storage", "serve_closed", "treering_version"}
"""Tables of no space: the names of spaces and models, counters, versions."""

SPACES = ("ana", "ben's")


@dataclass(frozen=True)
class Tenants:
    """Two spaces with rows in every table, and a connection that nothing binds.

    ``statements`` are what was sent within their spaces to fill them.
    """

    url: str
    superuser: psycopg.Connection[TupleRow]
    statements: frozenset[str]

    def tables(self) -> list[str]:
        name = Location.of(self.url).schema
        rows = self.superuser.execute(
            "SELECT CAST(relname AS TEXT) FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = %s::regnamespace ORDER BY 1",
            (name,),
        )
        return [str(row[0]) for row in rows]

    def with_a_space(self) -> set[str]:
        rows = self.superuser.execute(
            "SELECT CAST(table_name AS TEXT) FROM information_schema.columns"
            " WHERE table_schema = current_schema() AND column_name = 'space'"
        )
        return {str(row[0]) for row in rows}

    def count(self, table: str) -> int:
        row = self.superuser.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture(scope="module")
def tenants() -> Iterator[Tenants]:
    url = new_schema()
    statements: set[str] = set()

    def noted(sql: str) -> PostgresStatement:
        statement = translated(sql)
        statements.add(" ".join(statement.sql.split()))
        return statement

    with pytest.MonkeyPatch.context() as spied:
        spied.setattr(transaction, "translated", noted)
        for space in SPACES:
            _fill(url, space)
        for space in SPACES:  # last, as opening a memory removes what is staged by no process
            _stage(url, space)
    with closing(psycopg.connect(server_url(), autocommit=True)) as superuser:
        superuser.execute(f'SET search_path TO "{Location.of(url).schema}", public')
        yield Tenants(url, superuser, frozenset(statements))


def _fill(url: str, space: str) -> None:
    with Memory.open(f"{url}&limit=5", space=space, embedder=HashingEmbedder()) as memory:
        fill(memory)
        memory.code.index("tests/views/plugin")
        memory.forget(source="talk")
        memory.settle()
        memory.search("boat", source="letters/")
        keys.add(memory._database, space)


def _stage(url: str, space: str) -> None:
    with closing(PostgresDatabase(url)) as database, database.write(space) as writer:
        staged.put(writer, staged.begin(writer, space, presence=1, attempt=1, plan=""), b"[]")


def test_every_table_is_protected_also_from_its_owner_or_is_of_no_space(tenants: Tenants) -> None:
    rows = tenants.superuser.execute(
        "SELECT CAST(relname AS TEXT), relrowsecurity AND relforcerowsecurity FROM pg_class"
        " WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace)"
    ).fetchall()
    assert {name for name, is_protected in rows if not is_protected} == SHARED
    assert "nearest" in dict(rows)
    assert tenants.with_a_space() == set(tenants.tables()) - SHARED


def test_every_key_and_index_begins_with_the_space(tenants: Tenants) -> None:
    rows = tenants.superuser.execute(
        "SELECT CAST(c.relname AS TEXT), CAST(x.relname AS TEXT), CAST(a.attname AS TEXT),"
        " pg_get_expr(i.indpred, i.indrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
        " JOIN pg_class x ON x.oid = i.indexrelid"
        " LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
        " WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND c.relkind = 'r'"
    ).fetchall()
    others = {
        index: (table, condition)
        for table, index, column, condition in rows
        if column != "space" and table not in OF_THE_WHOLE
    }
    assert {table for table, _ in others.values()} == {"nearest"}
    for space, condition in others.values():  # an index of neighbours is of one space alone
        assert re.match(r"\(\(space = '?\d+'?", condition), (space, condition)


def test_every_reference_to_rows_of_a_space_names_it(tenants: Tenants) -> None:
    rows = tenants.superuser.execute(
        "SELECT CAST(conrelid AS REGCLASS)::text, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE contype = 'f' AND connamespace = CAST(current_schema() AS regnamespace)"
    ).fetchall()
    assert len(rows) > 30
    for table, definition in rows:
        target = re.search(r"REFERENCES (?:\w+\.)?(\w+)\(", definition)
        assert target is not None
        if target[1] not in OF_THE_WHOLE:
            assert re.match(r"FOREIGN KEY \(space, .*REFERENCES .*\(space, ", definition), table


def test_every_statement_of_a_space_says_which(tenants: Tenants) -> None:
    assert len(tenants.statements) > 150
    of_one = tenants.statements - OF_ALL_SPACES
    assert not {sql: missing for sql in of_one if (missing := without_space(sql))}


def test_a_query_without_a_condition_sees_the_rows_of_its_space_alone(tenants: Tenants) -> None:
    seen: dict[str, list[int]] = {}
    with closing(PostgresDatabase(tenants.url)) as database:
        for table in sorted(set(tenants.tables()) - SHARED):
            total = tenants.count(table)
            seen[table] = []
            for space in SPACES:
                with database.read(space) as reader:
                    row = reader.row(f"SELECT count(*) FROM {table}")
                    assert row is not None
                    seen[table].append(int(row[0]))
            assert sum(seen[table]) == total, table
            with database.read("nobody") as reader:
                assert reader.row(f"SELECT 1 FROM {table}") is None, table
            with database.read() as reader:
                assert reader.row(f"SELECT count(*) FROM {table}") == (total,), table
    rest = {"claim", "claim_entry", "reply", "reply_shown", "supersession", "unanswered"}
    rest |= {
        "work_error",
        "spent",
        "gone",
        "work",
        "fact_mark",
    }  # of what is under way, or of a language model
    assert {table for table, counts in seen.items() if not all(counts)} <= rest


def test_a_transaction_that_says_nothing_sees_nothing(tenants: Tenants) -> None:
    location = Location.of(tenants.url)
    with closing(psycopg.connect(location.conninfo)) as owner:
        owner.execute(f'SET search_path TO "{location.schema}"')
        for table in sorted(set(tenants.tables()) - SHARED):
            assert owner.execute(f"SELECT * FROM {table}").fetchone() is None, table
        assert owner.execute("UPDATE body SET text = ''").rowcount == 0
        assert owner.execute("DELETE FROM vector_data").rowcount == 0


def test_rows_of_another_space_are_neither_changed_nor_made(tenants: Tenants) -> None:
    before = tenants.count("body")
    with closing(PostgresDatabase(tenants.url)) as database:
        with database.read("ben's") as reader:
            row = reader.row("SELECT id FROM space WHERE name = ?", ("ben's",))
        assert row is not None
        with database.write("ana") as writer:
            assert writer.execute("DELETE FROM gone WHERE space = ?", (row[0],)) == 0
        with pytest.raises(JournalError, match="row-level security"), database.write("ana") as w:
            w.execute("INSERT INTO gone (space, fragment) VALUES (?, 1)", (row[0],))
        with pytest.raises(JournalError, match="null value"), database.write() as writer:
            writer.execute("INSERT INTO body (text, metadata) VALUES ('whose?', '{}')")
    assert tenants.count("body") == before


def test_a_read_within_a_read_of_another_space_sees_that_one(tenants: Tenants) -> None:
    def names(database: PostgresDatabase, space: str | None) -> list[str]:
        with database.read(space) as reader:
            return [row[0] for row in reader.rows("SELECT space FROM serve_key ORDER BY space")]

    with closing(PostgresDatabase(tenants.url)) as database, database.read("ana"):
        assert names(database, "ana") == ["ana"]
        assert names(database, "ben's") == ["ben's"]
        assert names(database, None) == ["ana", "ben's"]
        assert names(database, "ana") == ["ana"]


def test_what_stands_in_tables_of_version_19_is_given_its_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = new_schema()
    scripts = dict(schema._migrations())
    monkeypatch.setattr(schema, "_migrations", lambda: {19: scripts[19]})
    PostgresDatabase(url).close()
    location = Location.of(url)
    number = (7).to_bytes(8, "little") + (1_000_000).to_bytes(8, "little")
    with psycopg.connect(location.conninfo) as owner:
        owner.execute(f'SET search_path TO "{location.schema}"')
        owner.execute(
            "INSERT INTO model VALUES (1, 'm', 2); INSERT INTO space (id, name) VALUES (5, 'ana');"
            " INSERT INTO body (id, text, metadata) VALUES (1, 'of ana', '{}'), (2, 'lost', '{}');"
            " INSERT INTO label VALUES (1, 'letter');"
            " INSERT INTO source (id, space, hash, name) VALUES (1, 5, '', 1);"
            " INSERT INTO entry (seq, space, id, source, position, digest, kind, added, body)"
            " VALUES (1, 5, 'e', 1, 0, '', 'text', 0, 1);"
            " INSERT INTO block VALUES (1, 5, 100, 1, 1, 1, 3, 4, 1);"
            " INSERT INTO block_rows VALUES (1, decode(repeat('ab', 6800), 'hex'));"
            " INSERT INTO block_postings VALUES (3, decode(repeat('cd', 32), 'hex'));"
            " INSERT INTO vector_block VALUES (1, 5, 1, 1, 0, 2, 2, 7, 1000000);"
            " INSERT INTO vector_data VALUES (7, ''), (1000000, ''), (8, '');"
            " INSERT INTO code_repository (id, space, root, unit) VALUES (1, 5, '/', 'file');"
            " INSERT INTO code_file VALUES (1, 1, 'a.py', '', '', '');"
            " INSERT INTO code_relation VALUES (1, 1, '');"
            " INSERT INTO memo (id, space, name) VALUES (1, 5, 'boat');"
            " INSERT INTO memo_version (id, memo, made, origin, writer, topic, claims)"
            " VALUES (1, 1, 0, '', '', 'boat', '[]');"
            " INSERT INTO memo_line VALUES (1, 1, 1);"
            " INSERT INTO reply_shown VALUES (1, 1);"
            " INSERT INTO intake (id, space, presence, attempt, plan) VALUES (1, 'ana', 1, 1, '');"
            " INSERT INTO intake_slice (id, intake, items) VALUES (1, 1, '')"
        )
        owner.execute("INSERT INTO vector_block_data VALUES (1, %s)", (number + bytes(28),))
    monkeypatch.undo()
    with closing(PostgresDatabase(url)) as database:
        with database.read("ana") as reader:
            assert reader.row("SELECT text FROM body") == ("of ana",)
            assert reader.row("SELECT text FROM label") == ("letter",)
            vectors = reader.rows("SELECT id FROM vector_data ORDER BY id")
            assert [row[0] for row in vectors] == [7, 1_000_000]
            assert reader.part("block_rows", "data", (5, 1), 0, 9_999) == b"\xab" * 6_800
            assert reader.part("block_postings", "data", (5, 3), 0, 99) == b"\xcd" * 32
            assert reader.extent("vector_block_data", (5, 1)) == 44
            for table in ("code_file", "code_relation", "memo_version", "memo_line", "reply_shown"):
                assert reader.row(f"SELECT space FROM {table}") == (5,)
            assert reader.row("SELECT space FROM intake_slice") == ("ana",)
        with database.write("ana") as writer:
            assert writer.allot("block_postings", 8, 5) == 4


def test_tables_made_later_refer_to_rows_with_their_space_after_version_24(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = new_schema()
    scripts = {number: script for number, script in schema._migrations().items() if number < 25}
    monkeypatch.setattr(schema, "_migrations", lambda: scripts)
    PostgresDatabase(url).close()
    location = Location.of(url)
    with psycopg.connect(location.conninfo) as owner:
        owner.execute(f'SET search_path TO "{location.schema}"')
        owner.execute(
            "SELECT set_config('treering.all', 'on', true);"
            " INSERT INTO space (id, name) VALUES (5, 'ana'), (6, 'ben');"
            " INSERT INTO source (id, space, hash, name) VALUES (1, 5, '', 1), (2, 6, '', 1);"
            " INSERT INTO entry (seq, space, id, source, position, digest, kind, added, body)"
            " VALUES (1, 5, 'e', 1, 0, '', 'text', 0, 1), (2, 6, 'e', 2, 0, '', 'text', 0, 2);"
            " CREATE TABLE shout (space BIGINT NOT NULL, word TEXT,"
            "  entry BIGINT REFERENCES entry (seq) ON DELETE CASCADE);"
            " CREATE TABLE echo (entry BIGINT REFERENCES entry (seq) DEFERRABLE);"
            " INSERT INTO shout VALUES (5, 'BOAT', 1); INSERT INTO echo VALUES (1), (2);"
            " CREATE TABLE nearest (number BIGINT PRIMARY KEY"
            "  REFERENCES vector_data (id) ON DELETE CASCADE DEFERRABLE, space BIGINT NOT NULL);"
            " INSERT INTO vector_data (id, space, data) VALUES (7, 5, '');"
            " INSERT INTO nearest VALUES (7, 5)"
        )
    monkeypatch.undo()
    with closing(PostgresDatabase(url)) as database:
        with database.read("ben") as reader:  # the table without a space has one, and is protected
            assert list(reader.rows("SELECT space, entry FROM echo")) == [(6, 2)]
        with database.write("ana") as writer:
            with pytest.raises(JournalError, match="foreign key"), writer.attempt():
                writer.execute("INSERT INTO shout (space, entry) VALUES (5, 2)")
            writer.execute("DELETE FROM echo WHERE entry = 1")
            writer.execute("DELETE FROM entry WHERE space = 5 AND seq = 1")
            assert writer.row("SELECT 1 FROM shout") is None
            writer.execute("DELETE FROM vector_data WHERE space = 5 AND id = 7")
            assert writer.row("SELECT 1 FROM nearest") is None
    with psycopg.connect(location.conninfo) as owner:
        keys_of_nearest = owner.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype IN ('p', 'f')"
            " AND conrelid = CAST(%s AS regclass) ORDER BY contype",
            (f"{location.schema}.nearest",),
        ).fetchall()
    assert [str(key).count("(space, ") for (key,) in keys_of_nearest] == [2, 1]
