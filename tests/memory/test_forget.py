"""Forgetting: the text is gone from every table, every view, and the bytes of the file."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.embedders import HashingEmbedder, down
from tests.examples import examples
from tests.raised import raises
from treering import Memory
from treering.arrays import Floats, quantise_rows
from treering.errors import (
    EmbeddingError,
    InputError,
    JournalBusy,
    UnknownEntry,
    UnknownName,
)
from treering.hints import Hint
from treering.journal.space import SpaceReader
from treering.records import Filter
from treering.search.terms import terms
from treering.views import erase

pytestmark = pytest.mark.both_engines

SECRET = "The spare key lies under the third flowerpot"


def bytes_of(path: Path) -> bytes:
    """Everything the file and what belongs to it hold on disk."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def tables_of(path: Path) -> str:
    """Every value of every table."""
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump())


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        return found


def test_a_forgotten_text_is_nowhere(memory: Memory, path: Path) -> None:
    entry = memory.add(
        f"{SECRET}, where Zebediah put it.",
        source="secrets.txt",
        speaker="Zebediah",
        session="conspiracy",
        metadata={"place": "gardenia bed"},
    ).ids[0]
    memory.add("Ana moved to Porto.", source="diary")
    receipt = memory.forget(entry)
    assert receipt.scrubbed
    assert receipt.entries == (entry,)
    assert receipt.sources == ("secrets.txt",)
    derived = {"summaries": 0, "statements": 0, "memos": 0}
    assert receipt.views == {"fragments": 1, "vectors": 1} | derived
    for trace in ("flowerpot", "Zebediah", "conspiracy", "gardenia", "secrets.txt", entry):
        assert trace.encode() not in bytes_of(path)
        assert trace not in tables_of(path)
    assert [hit.text for hit in memory.search("spare key flowerpot")] == ["Ana moved to Porto."]
    assert (count(path, "fragment"), count(path, "vector_block"), count(path, "work")) == (1, 1, 0)
    with pytest.raises(UnknownName):
        memory.get(entry)
    assert memory.check() == []


@pytest.mark.parametrize("change", ["forget", "replace", "a changed file"])
def test_forgotten_code_is_nowhere(memory: Memory, path: Path, tmp_path: Path, change: str) -> None:
    """Names of functions and classes are text too, wherever a view keeps them."""
    file = tmp_path / "garden.py"
    file.write_text(
        'class GardeniaBed:\n    """Where Zebediah digs."""\n\n'
        "    def spare_key(self):\n        return open_flowerpot(self)\n",
        "utf-8",
    )
    entry = memory.add(file, source="garden.py").ids[0]
    memory.add("Ana moved to Porto.", source="diary")
    memory.settle()
    if change == "forget":
        memory.forget(entry)
    elif change == "replace":
        memory.replace(entry, "def nothing():\n    pass\n")
    else:
        file.write_text("def nothing():\n    pass\n", "utf-8")
        memory.add(file, source="garden.py")
    memory.settle()
    for trace in ("Gardenia", "Zebediah", "spare_key", "open_flowerpot"):
        assert trace not in tables_of(path)
        if change == "forget":
            assert trace.encode() not in bytes_of(path)


def test_what_is_named_is_found_without_reading_all_there_is(memory: Memory) -> None:
    ids = memory.add([{"role": "user", "content": f"Line {n}."} for n in range(400)]).ids
    given: list[int] = []

    class Counting(SpaceReader):
        def rows(self, sql: str, params: Sequence[Any] = ()) -> Iterator[Sequence[Any]]:
            for row in super().rows(sql, params):
                given.append(1)
                yield row

    with memory._database.read() as reader:
        counting = Counting(reader, memory._space)
        assert len(erase.matching_seqs(counting, ids[3:5], Filter())) == 2
        assert erase.matching_seqs(counting, ids[3:5], Filter(source="elsewhere")) == []
    assert len(given) < 20


def test_its_vector_and_terms_are_not_in_the_bytes_either(memory: Memory, path: Path) -> None:
    memory.add("Ana moved to Porto.", source="diary")
    entry = memory.add(SECRET).ids[0]
    with closing(sqlite3.connect(path)) as connection:
        vector = connection.execute("SELECT data FROM vector_data ORDER BY id DESC").fetchone()[0]
    codes, _ = quantise_rows(np.frombuffer(vector, dtype="<f4")[None])
    hashes = [term.tobytes() for term in terms(SECRET)[:, 0]]
    assert all(trace in bytes_of(path) for trace in (codes.tobytes(), *hashes))
    memory.forget(entry)
    assert vector[:64] not in bytes_of(path)
    assert codes.tobytes()[:64] not in bytes_of(path)
    assert not any(trace in bytes_of(path) for trace in hashes)


@examples(6)  # each rewrites its file many times
@given(seed=st.integers(0, 2**32 - 1))
def test_after_many_random_changes_no_forgotten_text_is_left_in_the_bytes(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = random.Random(seed)
    path = tmp_path_factory.mktemp("memory") / "life.db"
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        texts: dict[str, str] = {}
        erased: list[str] = []
        for step in range(5):
            marks = [f"{rng.getrandbits(64):x}" for _ in range(rng.choice([1, 5, 30]))]
            said = [f"{mark} {'pad ' * rng.choice([1, 40, 800])}{mark}" for mark in marks]
            ids = memory.add([{"role": "user", "content": one} for one in said], source=f"{step}")
            texts |= dict(zip(ids.ids, marks, strict=True))
            if rng.random() < 0.6:
                memory.settle()  # summaries are made of the texts, and quote them
            chosen = rng.sample(sorted(texts), k=min(len(texts), rng.choice([1, 3])))
            if rng.random() < 0.5:
                memory.replace(chosen[0], f"replaced {step}")
                erased.append(texts.pop(chosen.pop(0)))
            for entry in chosen:
                assert memory.forget(entry).scrubbed
                erased.append(texts.pop(entry))
        memory.add("last", source="last")
        memory.forget(source="last")
        stored = bytes_of(path)
        assert not [mark for mark in erased if mark.encode() in stored]
        memory.settle()
        stored = bytes_of(path)
        assert not [mark for mark in erased if mark.encode() in stored]
        assert all(mark.encode() in stored for mark in texts.values())
        assert memory.check() == []
        assert {entry.id for entry in memory.entries()} >= set(texts)


def test_the_text_of_another_entry_that_says_the_same_stays(memory: Memory) -> None:
    kept, gone = (memory.add(SECRET, source=source).ids[0] for source in ("a", "b"))
    assert memory.forget(gone).scrubbed
    assert memory.search("flowerpot")[0].entry_id == kept


def test_a_reader_delays_the_scrubbing_and_settle_does_it(
    open_memory: Open, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "WAIT_S", 0.05)
    memory, other = open_memory(), open_memory()
    entry = memory.add(SECRET).ids[0]
    memory.add("Ana moved to Porto.")
    with other._database.read() as reader:
        assert reader.row("SELECT text FROM body") == (SECRET,)
        receipt = memory.forget(entry)
        assert not receipt.scrubbed
        assert memory.stats().pending == {"scrub": 1}
        assert [hit.text for hit in memory.search("flowerpot")] == ["Ana moved to Porto."]
        assert reader.row("SELECT text FROM body") == (SECRET,)
        with raises(JournalBusy, hint=Hint.SETTLE):
            memory.settle()
        assert memory.stats().pending == {"scrub": 1}
    memory.settle()
    assert memory.stats().pending == {}
    assert b"flowerpot" not in bytes_of(path)


def test_scrubbing_that_waits_does_not_count_as_entries_that_cannot_be_found(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "WAIT_S", 0.05)
    memory, other = open_memory(), open_memory()
    entry = memory.add(SECRET).ids[0]
    with other._database.read() as reader:
        reader.row("SELECT text FROM body")
        memory.forget(entry)
        assert memory.add("Ana moved to Porto.").pending == 0


def test_another_writer_or_a_full_disk_delays_the_scrubbing_only(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "WAIT_S", 0.05)
    entry = memory.add(SECRET).ids[0]
    scrub_alone = memory._database.scrub

    def while_another_writes(tables: Collection[str], **options: Any) -> bool:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            return scrub_alone(tables, **options)

    monkeypatch.setattr(memory._database, "scrub", while_another_writes)
    assert not memory.forget(entry).scrubbed
    assert list(memory.entries()) == []
    monkeypatch.undo()
    memory.settle()
    assert b"flowerpot" not in bytes_of(path)


def test_without_a_condition_nothing_is_forgotten(memory: Memory) -> None:
    memory.add("Ana moved to Porto.")
    nothing: list[dict[str, Any]] = [
        {},
        {"source": None},
        {"metadata": {}},
        {"speaker": None, "since": None},
    ]
    for where in nothing:
        with raises(InputError, hint=Hint.CHOOSE_ENTRIES):
            memory.forget(**where)
    assert memory.stats().entries == 1


def test_an_id_and_a_filter_combine_with_and(memory: Memory) -> None:
    entry = memory.add("Ana moved to Porto.", source="diary").ids[0]
    with raises(UnknownName):
        memory.forget(entry, source="novel")
    assert memory.forget(entry, source="diary").entries == (entry,)


def test_what_was_forgotten_may_be_added_again(memory: Memory) -> None:
    first = memory.add(SECRET).ids
    memory.forget(first[0])
    assert memory.add(SECRET).ids != first
    assert memory.search("flowerpot")[0].text == SECRET


def test_what_is_not_embedded_yet_can_be_forgotten(open_memory: Open, path: Path) -> None:
    embedder = HashingEmbedder(tamper=down)
    memory = open_memory(embedder=embedder)
    entry = memory.add(SECRET).ids[0]
    memory.forget(entry)
    embedder.tamper = None
    memory.settle()
    assert count(path, "work") == 0
    assert b"flowerpot" not in bytes_of(path)


def test_a_note_on_why_work_failed_does_not_keep_the_text(open_memory: Open, path: Path) -> None:
    def quotes(texts: Sequence[str], vectors: Floats) -> Floats:
        raise EmbeddingError(f"400: cannot embed {texts[0]!r}")

    embedder = HashingEmbedder()
    memory = open_memory(embedder=embedder)
    memory.add("Ana moved to Porto.", source="diary")
    embedder.tamper = quotes
    entry = memory.add(SECRET, source="secrets").ids[0]
    memory.add("Ben rows.", source="diary")
    with pytest.raises(EmbeddingError):
        memory.settle()
    assert "cannot embed" in tables_of(path)
    memory.forget(entry)
    assert "flowerpot" not in tables_of(path)
    assert b"flowerpot" not in bytes_of(path)


def test_a_note_on_why_work_failed_does_not_bring_back_what_went_meanwhile(
    open_memory: Open, path: Path
) -> None:
    embedder = HashingEmbedder(tamper=down)
    memory = open_memory(embedder=embedder)
    entry = memory.add(SECRET, source="secrets").ids[0]
    memory.add("Ben rows.", source="diary")
    other = open_memory(embedder=HashingEmbedder(tamper=down))

    def forgets_and_quotes(texts: Sequence[str], vectors: Floats) -> Floats:
        embedder.tamper = down
        assert other.forget(entry).scrubbed
        raise EmbeddingError(f"400: cannot embed {texts!r}")

    embedder.tamper = forgets_and_quotes
    with pytest.raises(EmbeddingError):
        memory.settle()
    assert "flowerpot" not in tables_of(path)
    assert b"flowerpot" not in bytes_of(path)


def test_many_entries_are_forgotten_at_once(memory: Memory, path: Path) -> None:
    memory.add(
        [{"role": "user", "content": f"Secret number {n:06}."} for n in range(1_200)], source="big"
    )
    memory.add("Ana moved to Porto.")
    assert len(memory.forget(source="big").entries) == 1_200
    assert b"Secret number" not in bytes_of(path)
    assert memory.stats().entries == memory.stats().fragments == 1


def test_several_entries_go_in_one_call_and_none_when_one_is_unknown(memory: Memory) -> None:
    texts = ("The river is high.", "The sea is high.", "The sky is high.")
    one, two, three = (memory.add(text).ids[0] for text in texts)
    with raises(UnknownEntry):
        memory.forget(one, "nobody")
    assert memory.stats().entries == 3
    assert set(memory.forget(one, three).entries) == {one, three}
    assert [entry.id for entry in memory.entries()] == [two]
