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
from treering.journal.postgres import transaction
from treering.journal.postgres.database import PostgresDatabase
from treering.journal.postgres.location import Location
from treering.journal.postgres.statements import PostgresStatement, translate
from treering.serve import keys

SHARED = {"space", "model", "storage", "secret", "tombstone", "serve_closed", "treering_version"}
"""Tables of no space: names of spaces and models, counters, versions, digests that outlive it."""

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
        name = Location.parse(self.url).schema
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
        statement = translate(sql)
        statements.add(" ".join(statement.sql.split()))
        return statement

    with pytest.MonkeyPatch.context() as spied:
        spied.setattr(transaction, "translate", noted)
        for space in SPACES:
            _fill(url, space)
    with closing(psycopg.connect(server_url(), autocommit=True)) as superuser:
        superuser.execute(f'SET search_path TO "{Location.parse(url).schema}", public')
        yield Tenants(url, superuser, frozenset(statements))


def _fill(url: str, space: str) -> None:
    with Memory.open(f"{url}&limit=5", space=space, embedder=HashingEmbedder()) as memory:
        fill(memory)
        memory.code.index("tests/views/plugin")
        memory.forget(source="talk")
        memory.settle()
        memory.search("boat", source="letters/")
        keys.add(memory._database, space)


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
    assert len(tenants.statements) > 120
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
    rest = {
        "claim",
        "claim_entry",
        "correction",
        "reply",
        "reply_shown",
        "supersession",
        "unanswered",
    }
    rest |= {
        "work_error",
        "spent",
        "gone",
        "work",
        "fact_reading",
    }  # of what is under way, or of a language model
    assert {table for table, counts in seen.items() if not all(counts)} <= rest


def test_a_transaction_that_says_nothing_sees_nothing(tenants: Tenants) -> None:
    location = Location.parse(tenants.url)
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
