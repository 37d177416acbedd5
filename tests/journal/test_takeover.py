"""Files of the layouts before versions 14 and 19 are taken over in steps that may be cut off."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.journal.old_layout import write_back, write_back_to_lists
from treering import Memory
from treering.errors import JournalFull
from treering.journal import takeover
from treering.journal.contract import Reader, Writer
from treering.journal.sqlite import SqliteDatabase
from treering.search.terms import terms

SECRET = "The spare key lies under the third flowerpot"


@pytest.fixture
def before(path: Path, open_memory: Open) -> list[str]:
    """The export of a memory whose file has the old layout now; some of it was erased before."""
    with open_memory() as memory:
        memory.add(SECRET, source="secrets: of the garden", speaker="Zebediah")
        memory.forget(source="secrets: of the garden")
        memory.add(
            [{"role": "user", "name": "Ana", "content": f"Line {n} of many."} for n in range(40)],
            source="talk",
        )
        memory.add("Ben keeps bees.", source="notes/ben.txt", metadata={"town": "Lagos"})
        file = path.with_name("garden.txt")
        file.write_text("Tulips grow in the garden.", encoding="utf-8")
        memory.add(file, source="garden")
        lines = list(memory.export())
    write_back(path)
    with closing(sqlite3.connect(path)) as connection:
        # As an old release has left it: deleted, and still in the file.
        connection.execute("PRAGMA secure_delete=OFF")
        connection.execute("CREATE TABLE gone_by AS SELECT ? AS text", (SECRET,))
        connection.execute("DROP TABLE gone_by")
        connection.commit()
    assert SECRET.encode() in path.read_bytes()
    return lines


def assert_taken_over(memory: Memory, before: list[str], path: Path) -> None:
    assert list(memory.export()) == before
    assert [hit.text for hit in memory.search("bees", k=1)] == ["Ben keeps bees."]
    assert [hit.text for hit in memory.search("many", metadata={"town": "Lagos"}, k=1)]
    for of_file in ("garden", str(path.resolve().with_name("garden.txt")), f"{path.parent}/"):
        [entry] = memory.entries(source=of_file)
        assert entry.text == "Tulips grow in the garden."
    assert (memory.check(), memory.stats().pending) == ([], {})
    assert memory.stats().embedded == memory.stats().fragments
    assert SECRET.encode() not in path.read_bytes()
    with memory._database.read() as reader:
        assert not takeover.is_due(reader)


def test_everything_is_as_it_was_and_nothing_is_embedded_again(
    before: list[str], open_memory: Open, path: Path
) -> None:
    embedder = HashingEmbedder()
    memory = open_memory(embedder=embedder)
    assert embedder.texts == []
    assert_taken_over(memory, before, path)
    memory.add("Added since.", source="talk")
    assert memory.forget(source="talk").scrubbed
    assert b"of many" not in path.read_bytes()


@pytest.mark.parametrize("steps", range(1, 10))
def test_a_takeover_that_is_cut_off_is_gone_on_with(
    before: list[str],
    open_memory: Open,
    path: Path,
    steps: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    move, taken = takeover._move, 0

    def cut_off(writer: Writer, table: str, key: str) -> bool:
        nonlocal taken
        taken += 1
        if taken > steps:
            raise JournalFull("no space left")
        return move(writer, table, key)

    monkeypatch.setattr(takeover, "BATCH_ROWS", 9)
    monkeypatch.setattr(takeover, "NEWS_S", 0.0)
    with monkeypatch.context() as broken:
        broken.setattr(takeover, "_move", cut_off)
        with pytest.raises(JournalFull), closing(SqliteDatabase(path)):
            pass
    counts: list[int] = []

    def counted(writer: Writer, table: str, key: str) -> bool:
        counts.append(taken_over(writer))
        return move(writer, table, key)

    with monkeypatch.context() as watched, caplog.at_level(logging.WARNING):
        watched.setattr(takeover, "_move", counted)
        memory = open_memory()
    assert counts[0] == min(9 * max(steps - 2, 0), 42)  # what was moved is not moved again
    assert "is taken over: vector, 100 %" in caplog.text
    assert_taken_over(memory, before, path)


def taken_over(reader: Reader) -> int:
    row = reader.row("SELECT count(*) FROM entry")
    return int(row[0]) if row else 0


QUESTIONS = ("bees", "line 7 of many", "Who keeps a garden?")


def answers(memory: Memory) -> list[tuple[str, float]]:
    return [(hit.text, hit.score) for question in QUESTIONS for hit in memory.search(question)]


@pytest.fixture
def listed(path: Path, open_memory: Open) -> dict[str, list[tuple[str, float]]]:
    """What two spaces answer whose file has the layout of version 18 now."""
    with open_memory() as memory, open_memory(space="other") as other:
        for n in range(20):
            said = [
                {"role": "user", "name": name, "content": f"Line {n} of many.", "session": f"{n}"}
                for name in ("Ana", "Ben")
            ]
            memory.add(said, source="talk", session="monday")
            other.add(f"Ben keeps {n} bees.", source=f"notes/{n}")
        memory.add(SECRET, source="secrets")
        other.forget(source="notes/3")
        before = {"default": answers(memory), "other": answers(other)}
    write_back_to_lists(path)
    return before


def test_a_file_with_rows_for_each_fragment_answers_the_same_from_blocks(
    listed: dict[str, list[tuple[str, float]]], open_memory: Open, path: Path
) -> None:
    embedder = HashingEmbedder()
    memory = open_memory(embedder=embedder)
    other = open_memory(space="other", embedder=embedder)
    assert embedder.texts == []
    assert {"default": answers(memory), "other": answers(other)} == listed
    assert (memory.check(), memory.stats().pending, other.stats().pending) == ([], {}, {})
    traces = [SECRET.encode(), *(term.tobytes() for term in terms(SECRET)[:, 0])]
    assert all(trace in path.read_bytes() for trace in traces)
    assert memory.forget(source="secrets").scrubbed
    assert not any(trace in path.read_bytes() for trace in traces)
    other.add("A garden of Ana's.", source="notes/new")
    assert other.search("garden", k=1)[0].source == "notes/new"


@pytest.mark.parametrize("steps", range(4))
def test_putting_fragments_into_blocks_goes_on_where_it_was_cut_off(
    listed: dict[str, list[tuple[str, float]]],
    open_memory: Open,
    path: Path,
    steps: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    move, taken = takeover._move, 0

    def cut_off(writer: Writer, table: str, key: str) -> bool:
        nonlocal taken
        taken += 1
        if taken > steps:
            raise JournalFull("no space left")
        return move(writer, table, key)

    monkeypatch.setattr(takeover, "BATCH_ROWS", 13)
    monkeypatch.setattr(takeover, "NEWS_S", 0.0)
    with monkeypatch.context() as broken:
        broken.setattr(takeover, "_move", cut_off)
        with pytest.raises(JournalFull), closing(SqliteDatabase(path)):
            pass
    with caplog.at_level(logging.WARNING):
        memory = open_memory()
    assert "is taken over: fragment, 100 %" in caplog.text
    assert answers(memory) == listed["default"]
    with memory._database.read() as reader:
        assert not takeover.is_due(reader)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE term_list SET data = x'0102' WHERE id < 9",
        "DELETE FROM term_list WHERE id < 9",
        "UPDATE vector_data SET data = x'0102' WHERE id < 9",
        "DELETE FROM vector_data WHERE id < 9",
    ],
)
def test_what_is_damaged_is_left_out_and_made_anew(
    listed: dict[str, list[tuple[str, float]]], open_memory: Open, path: Path, damage: str
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(damage).rowcount
        connection.commit()
    memory = open_memory()
    assert memory.settle().pending == {}
    assert np.allclose([s for _, s in answers(memory)], [s for _, s in listed["default"]])
