"""The command line and the server on a memory in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Treering, record, records
from tests.postgres_server import new_schema
from tests.serve.live import serving
from treering import Memory
from treering.journal.open import shown_url


@pytest.fixture
def url(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A memory that has not been made, which the commands are told of by the environment."""
    url = new_schema()
    monkeypatch.setenv("TREERING_MEMORY", url)
    return url


def test_commands_work_on_it_as_on_a_file(treering: Treering, url: str, tmp_path: Path) -> None:
    missing = treering("search", "Porto")
    assert missing.exit_code == 2
    assert f"no memory at {shown_url(url)}" in missing.stderr
    treering("add", "Ana moved to Porto.", "--source", "talk")
    treering("add", "The locker code is 4471.", "--space", "ana")
    [hit] = records(treering("search", "Where is Ana?", "--json"))
    assert hit["text"] == "Ana moved to Porto."
    assert [row["space"] for row in records(treering("spaces", "--json"))] == ["ana", "default"]
    assert treering("export", "all.jsonl").exit_code == 0
    file = tmp_path / "life.db"
    assert treering("import", "all.jsonl", "-m", file).exit_code == 0
    assert record(treering("stats", "-m", file, "--json"))["entries"] == 1
    assert record(treering("forget", "--source", "talk", "--yes", "--json"))["scrubbed"] is True
    assert record(treering("stats", "--json"))["entries"] == 0


def test_doctor_looks_at_it_and_makes_nothing(treering: Treering, url: str) -> None:
    checks = {check["check"]: check for check in record(treering("doctor", "--json"))["checks"]}
    assert checks["file"]["state"] == "warn"
    assert treering("list").exit_code == 2
    treering("add", "Ana moved to Porto.")
    checks = {check["check"]: check for check in record(treering("doctor", "--json"))["checks"]}
    assert {check["state"] for check in checks.values()} == {"ok"}
    assert shown_url(url) in checks["file"]["detail"]


def test_a_password_is_in_nothing_that_a_command_says(treering: Treering, tmp_path: Path) -> None:
    url = f"postgresql://ana:swordfish@/life?host={tmp_path}"
    for command in (
        ["search", "x"],
        ["doctor"],
        ["doctor", "--json"],
        ["add", "y"],
        ["serve", "--port", "0"],
    ):
        result = treering(*command, "-m", url)
        assert result.exit_code != 0
        assert str(tmp_path) in result.output
        assert "swordfish" not in result.output


def test_two_servers_of_one_memory_see_what_the_other_stored(url: str) -> None:
    with (
        serving(url=url) as one,
        serving(url=url) as other,
        Memory.open(one) as ana,
        Memory.open(other) as ben,
    ):
        ana.add("Ana moved to Porto.", source="talk")
        assert [hit.text for hit in ben.search("Porto")] == ["Ana moved to Porto."]
        ben.forget(source="talk")
        ben.add("Ben likes trains.", source="talk")
        assert [hit.text for hit in ana.search("Porto")] == ["Ben likes trains."]
