"""Bulk ingest: the same memory as by ``add``, by many workers, even after a kill."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import programs
from tests.bulk.texts import is_whole, journal, prose, write_folder
from tests.bulk.workers import POISON, Counted, Refusing
from tests.conftest import Open
from tests.embedders import Endpoint, HashingEmbedder, down
from treering.bulk.ingest import bulk_ingest
from treering.bulk.worker import portable
from treering.embed.minilm import MiniLM
from treering.errors import InputError
from treering.records import Receipt
from treering.views import registry

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("bulk") / "notes")


@pytest.fixture
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new folder: one that also tests of PostgreSQL may ask for."""
    return tmp_path_factory.mktemp("new")


def test_the_journal_is_the_one_that_add_writes(open_memory: Open, folder: Path, new: Path) -> None:
    serial, bulk = open_memory(new / "serial.db"), open_memory(new / "bulk.db")
    receipt = serial.add(folder)
    steps: list[tuple[int, int]] = []
    report = bulk_ingest(
        bulk, folder, workers=2, progress=lambda done, total: steps.append((done, total))
    )
    assert journal(bulk) == journal(serial)
    assert (report.added, *report.skipped) == (receipt.added, *receipt.skipped)
    assert report.texts == bulk.stats().fragments == serial.stats().fragments
    assert is_whole(bulk)
    assert [hit.text for hit in bulk.search("kettle")] == [
        hit.text for hit in serial.search("kettle")
    ]
    assert {total for _, total in steps} == {0, report.added}
    assert steps[-1] == (report.added, report.added)


@pytest.mark.both_engines
def test_ingesting_again_takes_in_what_is_new_and_nothing_twice(
    open_memory: Open, new: Path
) -> None:
    (new / "a.txt").write_text("The boiler is old.")
    memory = open_memory()
    assert bulk_ingest(memory, new, workers=1).added == 1
    (new / "b.txt").write_text("The kettle is new.")
    again = bulk_ingest(memory, new, workers=1)
    assert (again.added, again.unchanged, again.texts) == (1, 1, 1)
    (new / "a.txt").write_text("The boiler is gone.")
    changed = bulk_ingest(memory, new, workers=1)
    assert (changed.added, changed.removed) == (1, 1)
    memory.settle()
    assert is_whole(memory)


@pytest.mark.both_engines
def test_who_adds_while_much_is_taken_in_leaves_the_index_of_that_to_others(
    open_memory: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "BUILD_PATIENCE_S", 0.0)
    memory, other = open_memory(), open_memory()
    receipts: list[Receipt] = []

    def add(done: int, total: int) -> None:
        if done and not total and not receipts:
            receipts.append(other.add("The samovar is from Tula.", source="other"))

    bulk_ingest(memory, folder, workers=1, progress=add)
    [receipt] = receipts
    assert receipt.pending > 1
    assert is_whole(memory)
    assert other.search("samovar")[0].source == "other"
    assert other.add("The urn is from Kiev.", source="other").pending == 0


@pytest.fixture
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three files, of which one has the poison."""
    folder = tmp_path_factory.mktemp("notes")
    for name, text in (("a", "The boiler is old."), ("b", f"Some {POISON}."), ("c", "Tea at 4.")):
        (folder / f"{name}.txt").write_text(text)
    return folder


def test_a_text_that_the_model_refuses_among_others_is_embedded_alone(
    open_memory: Open, notes: Path
) -> None:
    memory = open_memory(embedder=Refusing())
    assert bulk_ingest(memory, notes, workers=1).pending == 0
    assert is_whole(memory)


def test_a_model_that_is_down_leaves_the_embedding_for_later(
    open_memory: Open, notes: Path
) -> None:
    memory = open_memory(embedder=Endpoint(up=False))
    assert bulk_ingest(memory, notes, workers=1).pending == 3
    assert memory.search("boiler", mode="lexical")[0].text == "The boiler is old."
    again = open_memory(embedder=Endpoint())
    again.settle()
    assert is_whole(again)


def test_fragments_have_the_size_that_the_space_is_set_to(
    open_memory: Open, notes: Path, new: Path
) -> None:
    (notes / "long.txt").write_text(prose(5_000))
    serial, bulk = open_memory(new / "serial.db"), open_memory(new / "bulk.db")
    for memory in (serial, bulk):
        memory.configure(fragment="30 words")
    serial.add(notes)
    bulk_ingest(bulk, notes, workers=2)
    assert bulk.stats().fragments == serial.stats().fragments > 15
    assert is_whole(bulk)


def test_an_export_is_restored(open_memory: Open, notes: Path, new: Path) -> None:
    first, second = open_memory(new / "first.db"), open_memory(new / "second.db")
    first.add(notes)
    export = notes / "export.jsonl"
    export.write_text("".join(f"{line}\n" for line in first.export()))
    assert bulk_ingest(second, export, workers=1).added == 3
    assert list(second.export()) == list(first.export())
    assert is_whole(second)


def test_what_cannot_be_taken_in_changes_nothing(open_memory: Open, notes: Path) -> None:
    memory = open_memory()
    cases: tuple[tuple[tuple[str | Path, ...], dict[str, Any], str], ...] = (
        ((), {}, "nothing to take in"),
        ((notes, notes / "no.txt"), {}, "there is no file or folder"),
        (("",), {}, "there is no file or folder"),
        (("a" * 5_000,), {}, "there is no file or folder"),
        ((notes,), {"workers": 0}, "workers is 0"),
        ((notes,), {"kind": "novel"}, "kind is 'novel'"),
    )
    for places, options, why in cases:
        with pytest.raises(InputError, match=why):
            bulk_ingest(memory, *places, **options)
    assert memory.stats().entries == 0


@pytest.mark.both_engines
def test_what_is_to_be_masked_is_counted(open_memory: Open, notes: Path) -> None:
    (notes / "keys.txt").write_text("Hello. <private>The code is 4471.</private> Bye.")
    memory = open_memory()
    report = bulk_ingest(memory, notes, workers=1, mask=True, session="trip", metadata={"n": 1})
    assert (report.private, report.added) == (1, 4)
    assert not any("4471" in entry.text for entry in memory.entries())
    assert {(e.session, e.metadata["n"]) for e in memory.entries()} == {("trip", 1)}


# ------------------------------------------------------------------ who asks is killed


def killed(path: Path, folder: Path, *arguments: object) -> None:
    """Ingest in a process that is killed, see ``tests/bulk/ingest_process.py``."""
    command = [sys.executable, "-m", "tests.bulk.ingest_process", path, folder, *arguments]
    done = programs.run(list(map(str, command)), cwd=ROOT, timeout=TIMEOUT_S, check=False)
    assert done.returncode in (9, -9)


@pytest.mark.parametrize("seed", [1, 2])
def test_who_asks_may_be_killed_anywhere(
    open_memory: Open, path: Path, tmp_path: Path, seed: int
) -> None:
    folder = write_folder(tmp_path / "notes")
    rng = random.Random(seed)
    killed(path, folder, "write", rng.randint(2, 15))
    killed(path, folder, "write", rng.randint(5, 20))
    killed(path, folder, "embed", rng.randint(2, 6))
    memory, serial = open_memory(path), open_memory(tmp_path / "serial.db")
    report = bulk_ingest(memory, folder, workers=2)
    assert report.texts > 0
    serial.add(folder)
    assert journal(memory) == journal(serial)
    assert memory.stats().fragments == serial.stats().fragments
    assert is_whole(memory)


# ------------------------------------------------------------------ the workers


def peak(folder: Path, size: int) -> int:
    """The main memory, in MB, that an ingest of so many characters takes."""
    (folder / "texts").mkdir(parents=True)
    text = prose(500_000)
    (folder / "texts" / "novel.txt").write_text(
        "".join(f"Part {part}. {text}" for part in range(size // len(text)))
    )
    command = [sys.executable, "-m", "tests.bulk.memory_process"]
    done = subprocess.run(
        [*command, str(folder / "memory.db"), str(folder / "texts")],
        cwd=ROOT,
        timeout=TIMEOUT_S,
        check=True,
        capture_output=True,
    )
    return int(done.stdout) // 1024


def test_main_memory_does_not_grow_with_what_is_taken_in(tmp_path: Path) -> None:
    # The database's cache fills, and tasks under way are more than one: then it stays. That is a
    # few MB; seven bytes for each of the 2,000,000 characters would be too much.
    assert peak(tmp_path / "large", 2_500_000) < peak(tmp_path / "small", 500_000) + 14


def test_models_go_to_workers_by_their_specification_or_as_they_are(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "count")
    assert portable(MiniLM()) == "minilm"
    assert portable(counted) is counted
    with pytest.raises(InputError, match="'hashing' cannot be sent to other processes"):
        portable(HashingEmbedder(tamper=lambda texts, vectors: down(texts, vectors)))
