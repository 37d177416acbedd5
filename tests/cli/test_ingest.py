"""The command that takes in much at once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Process, Treering, record
from tests.postgres_server import new_schema
from treering.cli.run import Globals, Run

TIMEOUT_S = 60


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("The boiler is 13 years old.")
    (folder / "chat.jsonl").write_text('{"role": "user", "content": "Tea?"}\n')
    (folder / "picture.bin").write_bytes(b"\0\1")
    return folder


def test_a_folder_is_taken_in_and_its_cost_is_told(treering: Treering, notes: Path) -> None:
    done = treering("ingest", notes, "--workers", "2")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("added 2 entries of 2 files, 1 skipped\n2 texts, 0.0 MB, in ")
    assert "by 2 workers: " in done.stdout
    assert "picture.bin: not text" in " ".join(done.stderr.split())
    assert treering("search", "boiler").stdout.count("a.txt") == 1
    assert treering("ingest", notes).stdout.startswith("added 0 entries of 2 files, 2 unchanged")


def test_what_cannot_be_taken_in_says_why(treering: Treering, notes: Path) -> None:
    for arguments, why in (
        (("nowhere",), "there is no file or folder 'nowhere'"),
        ((notes, "--workers", "0"), "workers is 0"),
        (("gopher://host/notes",), "there is no file or folder 'gopher://host/notes'"),
        ((notes, "-m", "http://localhost:1"), "is a server, which embeds by itself"),
    ):
        refused = treering("ingest", *arguments)
        assert refused.exit_code == 2
        assert why in " ".join(refused.stderr.split())


def test_ctrl_c_ends_it_and_the_same_command_goes_on(
    treering: Treering, process: Process, notes: Path
) -> None:
    with process("ingest", notes, "--workers", "1", "--embedder", "waiting") as waits:
        assert waits.stdout is not None
        assert waits.stdout.readline() == "embedding\n"
        waits.send_signal(signal.SIGINT)
        stdout, stderr = waits.communicate(timeout=TIMEOUT_S)
    assert (waits.returncode, stdout) == (130, "")
    assert "interrupted. Space 'default' holds 2 entries, all durable" in stderr
    assert "Traceback" not in stderr
    done = record(treering("ingest", notes, "--workers", "1", "--json"))
    assert (done["unchanged"], done["texts"], done["pending"]) == (2, 2, 0)


def test_ctrl_c_of_what_only_reads_says_nothing_of_what_was_added(
    process: Process, notes: Path
) -> None:
    for command in (("ingest", notes, "--workers", "1"), ("search", "x")):
        with process(*command, "--embedder", "waiting") as waits:
            assert waits.stdout is not None
            assert waits.stdout.readline() == "embedding\n"
            waits.send_signal(signal.SIGINT)
            stderr = waits.communicate(timeout=TIMEOUT_S)[1]
        assert waits.returncode == 130
    assert stderr == "interrupted\n"


@pytest.mark.parametrize("create", [True, False])
def test_ctrl_c_with_two_memories_open_is_told_once(
    treering: Treering, tmp_path: Path, capsys: pytest.CaptureFixture[str], create: bool
) -> None:
    for name in ("a.db", "b.db"):
        treering("add", "A boat.", "-m", name)
    source, target = (Run.from_options(Globals(str(tmp_path / name))) for name in ("a.db", "b.db"))
    with pytest.raises(KeyboardInterrupt), source.memory(), target.memory(create=create):
        raise KeyboardInterrupt
    [line] = capsys.readouterr().err.splitlines()
    assert ("all durable" in line) == create


def test_postgresql_takes_it_too(treering: Treering, notes: Path) -> None:
    database = new_schema()
    assert (
        record(treering("ingest", notes, "--workers", "1", "--json", "-m", database))["added"] == 2
    )
    assert treering("search", "boiler", "-m", database).stdout.count("a.txt") == 1
