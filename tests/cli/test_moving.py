"""The commands that bring a memory elsewhere: copy and backup."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests import programs
from tests.cli.conftest import PLUGINS, ROOT, Treering, record, records
from tests.postgres_server import new_schema
from tests.serve.conftest import MakeKey, make_key
from tests.serve.live import serving

__all__ = ["make_key"]


@pytest.fixture
def spaces(treering: Treering) -> None:
    treering("add", "The boiler is 13 years old.", "--source", "house")
    treering("add", "My locker code is 4471.", "--space", "ana")
    treering("add", "I sold my car.", "--space", "ben")


def exported(treering: Treering, place: str | Path, space: str) -> str:
    return treering("export", "-m", place, "--space", space).stdout


def test_a_memory_goes_from_a_file_to_postgresql_and_to_a_server_and_back(
    treering: Treering, spaces: None, tmp_path: Path
) -> None:
    database = new_schema()
    done = records(treering("copy", "life.db", database, "--json"))
    assert [(row["space"], row["added"]) for row in done] == [
        ("ana", 1),
        ("ben", 1),
        ("default", 1),
    ]
    with serving(url=tmp_path / "served.db") as url:
        assert treering("copy", database, url).exit_code == 0
        assert treering("copy", url, "back.db").exit_code == 0
    for space in ("ana", "ben", "default"):
        assert exported(treering, "life.db", space) == exported(treering, "back.db", space) != ""


def test_spaces_are_copied_alone_where_they_are_named(treering: Treering, spaces: None) -> None:
    copied = treering("copy", "life.db", "some.db", "--space", "ana", "--space", "default")
    assert copied.exit_code == 0
    assert "copied space 'ana': 1 entry, 1 of them now" in copied.stdout
    assert treering("spaces", "-m", "some.db").stdout == "ana\ndefault\n"
    assert treering("--space", "ben", "copy", "life.db", "ben.db").exit_code == 0
    assert treering("spaces", "-m", "ben.db").stdout == "ben\n"


def test_what_cannot_be_copied_makes_nothing(treering: Treering, spaces: None) -> None:
    for arguments, why in (
        (("nowhere.db", "some.db"), "there is no memory at nowhere.db"),
        (("life.db", "some.db", "--space", "anna"), "no space 'anna'"),
        (("life.db", "./life.db"), "is the memory itself"),
        (("life.db", "some.db", "--space", ""), "space"),
    ):
        refused = treering("copy", *arguments)
        assert refused.exit_code == 2
        assert why in " ".join(refused.stderr.split())
        assert not Path("some.db").exists()


def test_a_key_opens_one_space_and_that_is_copied(
    treering: Treering,
    spaces: None,
    make_key: MakeKey,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TREERING_API_KEY", make_key("ana"))
    with serving(url=path) as url:
        done = records(treering("copy", url, "copy.db", "--json"))
        assert [(row["space"], row["added"]) for row in done] == [("ana", 1)]
        refused = treering("copy", "life.db", url, "--space", "ben")
        assert refused.exit_code == 1
        assert "does not open" in refused.stderr
    assert treering("spaces", "-m", "copy.db").stdout == "ana\n"


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
from treering.cli.main import app
app(sys.argv[2:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of processes")
def test_a_target_without_room_is_told_and_the_copy_succeeds_once_there_is_some(
    treering: Treering, settings: dict[str, str]
) -> None:
    for number in range(4):
        text = " ".join(f"word{number}x{place}" for place in range(15_000))
        treering("add", "-", "--source", str(number), stdin=text)
    command = [sys.executable, "-c", FULL, "1500000", "copy", "life.db", "copy.db"]
    environment = os.environ | settings | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(PLUGINS)))}
    full = programs.run(
        command, env=environment, timeout=120, check=False, capture_output=True, text=True
    )
    assert full.returncode == 3, full.stderr
    assert "copy.db" in full.stderr
    assert "run the same command again" in full.stderr
    assert treering("copy", "life.db", "copy.db").exit_code == 0
    assert exported(treering, "copy.db", "default") == exported(treering, "life.db", "default")


def test_a_backup_is_a_memory_of_its_own(treering: Treering, spaces: None, tmp_path: Path) -> None:
    done = record(treering("backup", "life.db", "copy.db", "--json"))
    assert done == {"file": "copy.db", "bytes": Path("copy.db").stat().st_size}
    assert exported(treering, "copy.db", "ana") == exported(treering, "life.db", "ana")
    refused = treering("backup", "life.db", "copy.db")
    assert refused.exit_code == 2
    assert "copy.db exists already; give another name or --force" in refused.stderr
    assert treering("backup", "life.db", "copy.db", "--force").exit_code == 0
    for place in ("http://127.0.0.1:1", f"postgresql://ana:swordfish@/life?host={tmp_path}"):
        refused = treering("backup", place, "other.db")
        assert refused.exit_code == 2
        assert "treering copy" in refused.stderr
        assert "swordfish" not in refused.stderr


def test_an_entry_is_shared_and_its_copies_are_erased_after_it(treering: Treering) -> None:
    [entry] = json.loads(treering("add", "A spare key.", "--space", "ana", "--json").stdout)["ids"]
    treering("add", "Lunch is at noon.", "--space", "team")
    assert treering("share", entry, "--space", "ana").exit_code == 2
    assert treering("share", entry, "--space", "ana", "--to", "tema").exit_code == 2
    for told in ("copied 1 entry", "copied 0 entries to 'team'; 1 already there"):
        shared = treering("share", entry, "--space", "ana", "--to", "team")
        assert told in shared.stdout
    assert "spare" in treering("list", "--space", "team").stdout
    assert "1 copy" in treering("retract", entry, "--space", "ana").stderr
    treering("retract", entry, "--undo", "--space", "ana")
    kept = treering("forget", entry, "--yes", "--space", "ana")
    assert "1 copy" in kept.stderr
    assert "forgot 1 entry, 1 fragment, 1 vector" in kept.stdout
    gone = treering("forget", entry, "--copies", "--yes", "--space", "ana")
    assert gone.stdout == "forgot 1 copy\n"
    assert "spare" not in treering("list", "--space", "team").stdout
    assert treering("forget", entry, "--copies", "--yes", "--space", "ana").exit_code == 2
