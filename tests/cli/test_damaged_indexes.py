"""A damaged index of a file: what it hides is told, and there again once it is made anew."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Treering
from tests.conftest import Open
from treering import Memory
from treering.copying import copy_space
from treering.errors import JournalCorrupt
from treering.ingest.where import Where

ENTRIES = 1_500
INTERIOR = 2  # the type of a page of an index that leads to others


def hide_entries(path: Path, index: str) -> None:
    """Flip a bit of the number of cells of a leaf of an index, so that it leads to fewer rows."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [root] = file.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (index,))
        [size] = file.execute("PRAGMA page_size")
    content = bytearray(path.read_bytes())

    def number(at: int, length: int) -> int:
        return int.from_bytes(content[at : at + length], "big")

    page = (root[0] - 1) * size[0]
    while content[page] == INTERIOR:
        middle = number(page + 3, 2) // 2
        cell = number(page + 12 + 2 * middle, 2)
        page = (number(page + cell, 4) - 1) * size[0]
    cells = number(page + 3, 2)
    fewer = cells ^ (1 << (cells.bit_length() - 1))
    content[page + 3 : page + 5] = fewer.to_bytes(2, "big")
    path.write_bytes(content)


@pytest.fixture(params=["entry_by_space", "entry_by_position"])
def hidden(request: pytest.FixtureRequest, open_memory: Open, path: Path) -> Memory:
    """A memory of which an index hides some entries."""
    messages = [{"role": "user", "content": f"note {number}"} for number in range(ENTRIES)]
    with open_memory() as memory:
        memory.add(messages, source="chat")
    hide_entries(path, request.param)
    return open_memory()


def test_nothing_is_forgotten_where_an_index_hides_entries(hidden: Memory) -> None:
    for where in (Where(source="chat"), Where(kind="chat")):  # which ask two indexes
        with pytest.raises(JournalCorrupt):
            hidden.forget(**where)
    assert hidden.stats().fragments == ENTRIES


@pytest.mark.parametrize("hidden", ["entry_by_space"], indirect=True)
def test_an_export_and_a_copy_tell_that_they_lack_entries(
    hidden: Memory, open_memory: Open, tmp_path: Path
) -> None:
    lines: list[str] = []
    with pytest.raises(JournalCorrupt):
        lines.extend(hidden.export())
    with pytest.raises(JournalCorrupt):
        copy_space(hidden, open_memory(tmp_path / "copy.db"))


def test_what_an_index_hides_is_there_again_once_it_is_made_anew(
    hidden: Memory, path: Path, treering: Treering
) -> None:
    hidden.close()
    told = treering("doctor", "-m", str(path))
    assert told.exit_code == 6
    assert " index " in told.stdout
    assert "`treering doctor --reindex` rebuilds indexes" in told.stderr
    assert treering("doctor", "--reindex", "-m", str(path)).exit_code == 0
    with Memory.open(path) as memory:
        assert len(list(memory.export())) == ENTRIES + 1
        assert len(memory.forget(source="chat").entries) == ENTRIES
