"""The format of a memory: its number, and the script of a new one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.postgres_server import empty_memory
from treering.errors import JournalError, JournalVersionError
from treering.journal import schema
from treering.journal.open import is_postgres, open_database


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A memory that does not exist yet."""
    if request.param == "sqlite":
        yield str(tmp_path / "one.db")
        return
    with empty_memory() as there:
        yield there


def set_number(url: str, wanted: int) -> None:
    with closing(open_database(url)) as database, database.write() as writer:
        on_server = is_postgres(url)
        sql = "UPDATE treering_version SET number =" if on_server else "PRAGMA user_version ="
        writer.execute(f"{sql} {wanted}")


def test_a_process_that_runs_on_after_an_upgrade_can_write_no_more(url: str) -> None:
    with closing(open_database(url)) as running:
        set_number(url, schema.FORMAT + 1)
        for space in (None, "ana"):
            refused = pytest.raises(JournalVersionError)
            with refused, running.write(space, derived=space is not None):
                raise AssertionError("not reached")


@pytest.mark.parametrize(
    ("wanted", "step"),
    [(schema.FORMAT - 1, "treering export"), (1, "treering export"), (9_000, "upgrade treering")],
)
def test_another_format_is_refused_and_left_as_it_is(url: str, wanted: int, step: str) -> None:
    set_number(url, wanted)
    for _ in range(2):
        with pytest.raises(JournalVersionError, match=rf"format {wanted}\b.*{step}"):
            open_database(url)


def test_tables_that_cannot_be_created_leave_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = url.replace("schema=own", "schema=broken")  # of which there is no table yet
    script = schema.script
    with monkeypatch.context() as patch:
        broken = "\nALTER TABLE nowhere ADD COLUMN colour TEXT;\n"
        patch.setattr(schema, "script", lambda package: script(package) + broken)
        with pytest.raises(JournalError):
            open_database(url)
    with closing(open_database(url)) as database, database.read() as reader:
        assert reader.row("SELECT count(*) FROM entry") == (0,)
