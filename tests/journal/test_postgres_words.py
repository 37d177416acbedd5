"""No word outlives its row in PostgreSQL's statistics or between the pages of its indexes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg.rows import TupleRow

from tests.embedders import HashingEmbedder
from tests.postgres_server import new_schema, server_url
from tests.views.conftest import PLUGIN, fill
from treering import Memory
from treering.journal.open import open_database
from treering.journal.postgres import vacuum
from treering.journal.postgres.location import Location

Superuser = psycopg.Connection[TupleRow]

NUMBERS = ("bigint", "integer", "smallint", "boolean", "real", "double precision")
"""Types whose values are no words: only such columns have statistics."""

WITH_STATISTICS = """
    SELECT CAST(CAST(c.oid AS REGCLASS) AS TEXT) || '.' || a.attname FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = CAST(current_schema() AS REGNAMESPACE) AND a.attnum > 0
        AND NOT a.attisdropped AND format_type(a.atttypid, NULL) <> ALL (%s)
        AND (c.relkind IN ('r', 'p', 'm') AND coalesce(a.attstattarget, -1) <> 0
            OR c.relkind = 'i' AND coalesce(a.attstattarget, -1) <> 0 AND EXISTS (
                SELECT 1 FROM pg_index i WHERE i.indexrelid = c.oid
                AND i.indkey[a.attnum - 1] = 0))
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A memory above its limit, with rows in every table and those of another package's view."""
    url = new_schema()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLUGIN))
        with Memory.open(f"{url}&limit=5", embedder=HashingEmbedder()) as memory:
            fill(memory)
            memory.code.index("tests/views/plugin")
            memory.settle()
        yield url
    sys.modules.pop("shouting", None)


@pytest.fixture
def superuser(url: str) -> Iterator[Superuser]:
    with closing(psycopg.connect(server_url(), autocommit=True)) as connection:
        connection.execute(f'SET search_path TO "{Location.parse(url).schema}", public')
        yield connection


def with_statistics(superuser: Superuser) -> list[str]:
    return [row[0] for row in superuser.execute(WITH_STATISTICS, (list(NUMBERS),))]


def test_no_column_of_words_has_statistics(superuser: Superuser) -> None:
    tables = superuser.execute(
        "SELECT to_regclass('nearest_1_1'), to_regclass('view_shouts')"
    ).fetchone()
    assert None not in (tables or (None,))
    assert with_statistics(superuser) == []
    extended = "SELECT 1 FROM pg_statistic_ext WHERE stxnamespace = current_schema()::regnamespace"
    assert superuser.execute(extended).fetchone() is None


def test_the_statistics_hold_numbers_alone(superuser: Superuser) -> None:
    superuser.execute("ANALYZE")
    rows = superuser.execute(
        "SELECT s.tablename, s.attname, s.most_common_vals::text, s.histogram_bounds::text"
        " FROM pg_stats s WHERE s.schemaname = current_schema()"
    ).fetchall()
    assert {"entry", "statement", "body"} & {row[0] for row in rows}
    values = "".join(f"{common}{bounds}" for *_, common, bounds in rows)
    assert set(values) <= set("0123456789-.,{}tfeNone")
    assert not {row[1] for row in rows} & {"text", "speaker", "metadata", "subject", "half"}


def test_what_another_package_defines_has_no_statistics_either(
    url: str, superuser: Superuser
) -> None:
    with closing(open_database(url)) as database, database.write() as writer:
        writer.execute("CREATE TABLE IF NOT EXISTS murmur (space INTEGER NOT NULL, word TEXT)")
        writer.execute("CREATE INDEX IF NOT EXISTS murmur_low ON murmur (space, lower(word))")
        writer.execute("ALTER TABLE murmur ADD COLUMN again TEXT")
    assert with_statistics(superuser) == []
    superuser.execute("INSERT INTO murmur SELECT 1, 'secret' || n FROM generate_series(1, 50) AS n")
    superuser.execute("ANALYZE")
    found = "SELECT tablename, attname FROM pg_stats WHERE tablename LIKE 'murmur%'"
    assert superuser.execute(found).fetchall() == [("murmur", "space")]


TEXT_KEYS = """
    SELECT CAST(i.indrelid AS REGCLASS)::text || '.' || a.attname FROM pg_index i
    JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attnum <= i.indnkeyatts
    WHERE CAST(i.indrelid AS REGCLASS)::text = ANY (%s)
        AND format_type(a.atttypid, NULL) <> ALL (%s)
"""


def test_tables_of_entries_have_no_index_of_words(superuser: Superuser) -> None:
    keys = superuser.execute(TEXT_KEYS, (list(vacuum.NUMBERED), list(NUMBERS))).fetchall()
    # The name of a view and a digest.
    assert {str(row[0]) for row in keys} == {"work_error.view", "reply.key"}


def test_names_are_on_no_page_of_an_index_and_forgetting_builds_none(
    url: str, superuser: Superuser
) -> None:
    names = [f"Zebediah{number:04}" for number in range(600)]
    with Memory.open(url, embedder=HashingEmbedder()) as memory:
        ids = memory.add(
            [{"role": "user", "name": name, "content": "I live in Porto."} for name in names],
            source="talk",
        ).ids
        assert len(memory.facts.all("zebediah0007")) == 1
        files = files_of_indexes(superuser, "statement")
        assert memory.forget(*ids[1::2]).scrubbed
        assert memory.check() == []
        assert len(memory.facts.current(names[2])) == 1
    assert files_of_indexes(superuser, "statement") == files
    assert b"zebediah" not in pages_of_indexes(superuser, "statement").lower()


def test_forgotten_words_are_on_no_page_of_an_index_of_another_package(
    url: str, superuser: Superuser, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [
        f"ZEBE{chr(65 + number // 26 % 26)}{chr(65 + number % 26)}" * 40 for number in range(160)
    ]
    with Memory.open(url, embedder=HashingEmbedder()) as memory:
        superuser.execute("CREATE INDEX view_shouts_by_word ON view_shouts (space, word)")
        ids = memory.add(
            [{"role": "user", "content": f"Stop {word} now."} for word in words], source="street"
        ).ids
        stored = pages_of_indexes(superuser, "view_shouts")
        assert all(word.encode() in stored for word in words)
        monkeypatch.setattr(vacuum, "SMALL", 1)
        assert not memory.forget(ids[0]).scrubbed  # indexes that are large wait for settle()
        assert memory.settle().pending == {}
        monkeypatch.undo()
        assert memory.forget(*ids[1::2]).scrubbed
        left = pages_of_indexes(superuser, "view_shouts")
    assert [word for word in words[1::2] if word.encode() in left] == []
    assert words[2].encode() in left


INDEX_FILES = """
    SELECT pg_relation_filepath(indexrelid) FROM pg_index
    WHERE CAST(indrelid AS REGCLASS)::text = %s ORDER BY 1
"""


def files_of_indexes(superuser: Superuser, table: str) -> list[str]:
    """Return the paths of the files of all indexes of a table."""
    return [str(row[0]) for row in superuser.execute(INDEX_FILES, (table,))]


def pages_of_indexes(superuser: Superuser, table: str) -> bytes:
    """Return the bytes of the files of all indexes of a table."""
    superuser.execute("CHECKPOINT")
    files = files_of_indexes(superuser, table)
    rows = [
        superuser.execute("SELECT pg_read_binary_file(%s)", (file,)).fetchone() for file in files
    ]
    return b"".join(bytes(row[0]) for row in rows if row)
