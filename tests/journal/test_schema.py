"""The format of a memory: its number, the script of a new one, and the steps to the next one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.postgres_server import empty_memory
from treering.errors import JournalError, JournalVersionError
from treering.journal import schema
from treering.journal.contract import Database, Reader
from treering.journal.open import is_postgres, open_database

STEP = schema.Step(
    sqlite="ALTER TABLE memo ADD COLUMN colour TEXT;\n"
    "CREATE INDEX memo_by_colour ON memo (space, colour);\n",
    postgres='ALTER TABLE memo ADD COLUMN colour TEXT COLLATE "C";'
    " CREATE INDEX memo_by_colour ON memo (space, colour)",
)
"""A step that no release needs. The first real one is tested as this one is."""

BROKEN = schema.Step(
    sqlite=STEP.sqlite + "ALTER TABLE nowhere ADD COLUMN colour TEXT;\n",
    postgres=STEP.postgres + "; ALTER TABLE nowhere ADD COLUMN colour TEXT",
)

DESCRIBED = ("table_xinfo", "foreign_key_list", "index_list", "index_xinfo")
COLUMNS = (
    "SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default"
    " FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, 2"
)
CONSTRAINTS = (
    "SELECT CAST(conrelid AS regclass)::text, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = CAST(current_schema() AS regnamespace) AND contype <> 'n' ORDER BY 1, 2"
)
INDEXES = (
    "SELECT indexname, split_part(indexdef, ' USING ', 2) FROM pg_indexes"
    " WHERE schemaname = current_schema() ORDER BY 1"
)


@pytest.fixture(params=["sqlite", "postgres"])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Two memories that are not made yet."""
    if request.param == "sqlite":
        yield str(tmp_path / "one.db"), str(tmp_path / "two.db")
        return
    with empty_memory() as one, empty_memory() as two:
        yield one, two


def structure(database: Database) -> list[object]:
    """Return the tables of a database, with their columns, constraints and indexes."""
    with database.read() as reader:
        if is_postgres(database.url):
            return [list(reader.rows(query)) for query in (COLUMNS, CONSTRAINTS, INDEXES)]
        objects = list(reader.rows("SELECT type, name FROM sqlite_schema ORDER BY name"))
        return [
            (kind, name, *(list(reader.rows(f"PRAGMA {query}('{name}')")) for query in DESCRIBED))
            for kind, name in objects
        ]


def number(reader: Reader, database: Database) -> int:
    on_server = is_postgres(database.url)
    row = reader.row("SELECT number FROM treering_version" if on_server else "PRAGMA user_version")
    assert row is not None
    return int(row[0])


def set_number(url: str, wanted: int) -> None:
    with closing(open_database(url)) as database, database.write() as writer:
        on_server = is_postgres(url)
        sql = "UPDATE treering_version SET number =" if on_server else "PRAGMA user_version ="
        writer.execute(f"{sql} {wanted}")


def with_steps(monkeypatch: pytest.MonkeyPatch, *steps: schema.Step) -> None:
    """Play a release whose tables are those of today and what the steps add."""
    scripts = {package: schema.script(package) for package in PACKAGES}
    added = {
        package: "\n".join(getattr(step, engine) for step in steps)
        for package, engine in PACKAGES.items()
    }
    monkeypatch.setattr(schema, "STEPS", steps)
    monkeypatch.setattr(schema, "script", lambda package: scripts[package] + added[package])


PACKAGES = {"treering.journal": "sqlite", "treering.journal.postgres": "postgres"}


def test_a_step_makes_of_an_earlier_memory_what_a_new_one_is(
    urls: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_database(urls[0])) as before, before.write() as writer:
        writer.execute("INSERT INTO space (name) VALUES ('ana')")
    with_steps(monkeypatch, STEP)
    with closing(open_database(urls[0])) as old, closing(open_database(urls[1])) as new:
        assert structure(old) == structure(new)
        assert "memo_by_colour" in str(structure(old))
        with old.read() as reader:
            assert number(reader, old) == schema.FIRST + 1
            assert reader.row("SELECT name FROM space") == ("ana",)


def test_a_step_that_fails_changes_nothing(
    urls: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_database(urls[0])) as database:
        before = structure(database)
    with monkeypatch.context() as newer:
        with_steps(newer, BROKEN)
        with pytest.raises(JournalError):
            open_database(urls[0])
    with closing(open_database(urls[0])) as database, database.read() as reader:
        assert structure(database) == before
        assert number(reader, database) == schema.FIRST


def test_a_process_that_runs_on_after_a_step_can_write_no_more(
    urls: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_database(urls[0])) as running:
        with monkeypatch.context() as newer:
            with_steps(newer, STEP)
            open_database(urls[0]).close()
        for space in (None, "ana"):
            refused = pytest.raises(JournalVersionError)
            with refused, running.write(space, derived=space is not None):
                raise AssertionError("not reached")


@pytest.mark.parametrize(
    ("wanted", "step"),
    [(schema.FIRST - 1, "treering export"), (1, "treering export"), (9_000, "upgrade treering")],
)
def test_another_format_is_refused_and_left_as_it_is(
    urls: tuple[str, str], wanted: int, step: str
) -> None:
    set_number(urls[0], wanted)
    for _ in range(2):
        with pytest.raises(JournalVersionError, match=rf"format {wanted}\b.*{step}"):
            open_database(urls[0])
