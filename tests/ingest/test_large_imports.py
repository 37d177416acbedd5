"""Imports of many entries: all or nothing, in one transaction, killed or not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.ingest.import_process import COUNT, killed, lines, text_of
from treering import Memory
from treering.errors import InputError, JournalFull
from treering.ingest import items
from treering.ingest.secrets import Cleaner


def superseded(older: int, newer: int) -> str:
    return f'{{"superseded": "{older:016x}", "by": "{newer:016x}"}}'


@pytest.mark.parametrize(
    "last",
    [
        "{",
        '{"id": "0", "source": "a", "position": 0, "kind": "chat"}',
        f'{{"id": "{0:016x}", "source": "a", "position": 0, "kind": "chat", "text": "other"}}',
        '{"id": "0", "source": "treering:memos", "position": 0, "kind": "text", "text": "x"}',
        "\n".join([superseded(1, 2), superseded(2, 3), superseded(3, 1)]),
    ],
)
def test_an_import_with_one_bad_line_leaves_nothing(
    path: Path, open_memory: Open, last: str
) -> None:
    memory = open_memory(path, space="new")
    with pytest.raises(InputError):
        memory.import_([*lines(), *last.split("\n")])
    assert list(memory.entries()) == []
    assert memory.spaces() == []


def test_an_import_of_another_text_under_an_id_that_is_here_leaves_nothing(
    open_memory: Open, path: Path
) -> None:
    memory = open_memory(path)
    other = '{"id": "%016x", "source": "a", "position": 0, "kind": "chat", "text": "mine"}'
    memory.import_([next(lines()), other % (COUNT - 1)])
    with pytest.raises(InputError):
        memory.import_(lines())
    assert [entry.text for entry in memory.entries()] == ["mine"]


def test_an_import_says_what_holds_of_a_text_that_is_here_under_another_id(
    path: Path, open_memory: Open
) -> None:
    memory = open_memory(path)
    [own] = memory.import_([next(lines()), list(lines(2))[2].replace(f"{1:016x}", "own")]).ids
    memory.import_([*lines(3), superseded(1, 2)])
    newer = memory.get(own).superseded_by
    assert newer is not None
    assert newer.entry_id == f"{2:016x}"


@pytest.mark.both_engines
def test_an_import_is_read_in_parts_and_all_or_nothing(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "READ_AHEAD_ITEMS", 7)
    memory = open_memory(space="new")
    with pytest.raises(InputError):
        memory.import_([*lines(20), "{"])
    assert memory.spaces() == []
    assert memory.import_([*lines(20), superseded(1, 15)]).added == 20
    assert memory.import_(lines(20)).unchanged == 20
    newer = memory.get(f"{1:016x}").superseded_by
    assert newer is not None
    assert newer.entry_id == f"{15:016x}"


@pytest.mark.both_engines
def test_an_import_lets_others_write_while_it_is_read(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "READ_AHEAD_ITEMS", 7)
    memory = open_memory()

    def slow() -> Iterator[str]:
        for number, line in enumerate(lines(20)):
            if number == 15:
                memory.add("a note that comes meanwhile")
            yield line

    assert memory.import_(slow()).added == 20
    assert memory.stats().entries == 21


def test_an_import_without_room_for_a_temporary_file_leaves_nothing(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "READ_AHEAD_ITEMS", 7)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    memory = open_memory(space="new")
    with pytest.raises(JournalFull):
        memory.import_(lines(20))
    assert memory.spaces() == []


def test_a_file_lets_others_write_while_it_is_read(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "notes.txt"
    clean = Cleaner.clean

    def slow(cleaner: Cleaner, text: str) -> str:
        memory.add(f"a note before {text}", source="beside")
        return clean(cleaner, text)

    for text in ("one", "two"):
        file.write_text(text)
        with monkeypatch.context() as patch:
            patch.setattr(Cleaner, "clean", slow)
            memory.add(file, source="notes", mask=True)
    assert [entry.text for entry in memory.entries(source="notes")] == ["two"]
    assert memory.stats().entries == 3


@pytest.mark.both_engines
@pytest.mark.parametrize("last", [1, 2])
def test_an_import_that_is_killed_is_there_as_a_whole_or_not_at_all(
    path: Path, engine: str, databases: dict[Path, str], open_memory: Open, last: int
) -> None:
    url = databases[path] if engine == "postgres" else path
    killed(url, "default", last)
    memory = open_memory(url)
    known = COUNT * (last - 1)
    assert [entry.text for entry in memory.entries()] == [text_of(n) for n in range(known)]
    assert memory.import_(lines()).unchanged == known
    assert memory.settle().fragments == COUNT
    assert memory.check() == []
