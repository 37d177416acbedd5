"""What holds of every view: of those in treering, and of one that only an entry point names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.memo.talk import place
from tests.memo.test_settle import one_topic
from tests.views.conftest import fill
from tests.views.pictures import TABLES, picture, rows, views
from treering import Memory
from treering.errors import LLMUnavailable, ViewError
from treering.journal.contract import Reader, Writer
from treering.journal.sqlite.database import SqliteDatabase
from treering.llm.scripted import FakeLLM
from treering.views import settle
from treering.views.contract import view_states

NAMES = ["fragments", "tree", "memo", "facts", "code", "shouts"]
SECRET = "zanzibar"


@pytest.mark.both_engines
def test_these_are_all_the_views_there_are(full: Memory) -> None:
    assert [each.name for each in views(full)] == NAMES
    with full._space.read() as reader:
        assert set(view_states(reader)) == set(NAMES)


@pytest.mark.both_engines
@pytest.mark.parametrize("name", [name for name in NAMES if name != "memo"])
def test_rebuilding_makes_what_following_step_by_step_has_made(full: Memory, name: str) -> None:
    before = picture(full, name)
    full.rebuild(name)
    assert picture(full, name) == before
    assert full.stats().outdated == ()
    assert full.stats().pending == {}


@pytest.mark.both_engines
def test_memos_stay_until_a_model_has_written_them_again(full: Memory, open_memory: Open) -> None:
    boat = place(full, "Boat", "The boat needs a sail.", 4, 7)
    full.memos.edit(boat.id, topic="A person's own words")
    before = picture(full, "memo")
    full.close()
    down = open_memory(llm=FakeLLM([LLMUnavailable("down")] * 20))
    with pytest.raises(LLMUnavailable):
        down.rebuild("memo")
    assert picture(down, "memo") == before
    assert down.stats().outdated == ("memo",)
    down.close()
    memory = open_memory(llm=FakeLLM(one_topic))
    memory.rebuild("memo")
    topics = [memo.topic for memo in memory.memos.list()]
    assert topics == ["A person's own words", "talk"]
    assert memory.stats().outdated == ()


def test_erasing_leaves_no_row_and_no_byte(full: Memory, path: Path) -> None:
    full.add([{"role": "user", "name": "Ana", "content": f"I live in {SECRET}. BEWARE"}])
    full.tree.draw()
    full.settle()
    assert SECRET.encode() in path.read_bytes() + Path(f"{path}-wal").read_bytes()
    receipt = full.forget(*(entry.id for entry in full.entries()))
    assert receipt.scrubbed
    for table in {table for tables in TABLES.values() for table in tables} - {"node"}:
        assert rows(full, table) == [], table
    assert [row for row in rows(full, "node") if any(isinstance(v, str) for v in row)] == []
    full.settle()
    assert rows(full, "node") == []
    assert SECRET.encode() not in path.read_bytes() + Path(f"{path}-wal").read_bytes()


@pytest.mark.both_engines(name=("fragments", "code"))
@pytest.mark.parametrize("name", ["fragments", "facts", "code", "shouts"])
def test_an_entry_with_another_text_is_read_again_by_every_view(full: Memory, name: str) -> None:
    [old] = [entry for entry in full.entries() if "never retries" in entry.text]
    before = picture(full, name)
    full.replace(old.id, "I live in Faro. decode() is LOUD.")
    full.replace(old.id, old.text)
    assert full.stats().pending.keys() <= {"scrub", "tree", "tree:erased", "shouts:count"}
    full.settle()
    if name != "fragments":  # whose numbers are given anew
        assert picture(full, name) == before


class Killed(BaseException):
    """As Ctrl-C, or the end of a process: nothing catches it."""


@pytest.mark.both_engines(batch=(2,), name=("fragments",))
@pytest.mark.parametrize("name", ["fragments", "facts", "code", "shouts"])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_rebuild_that_is_killed_goes_on_and_makes_the_same(
    full: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch, name: str, batch: int
) -> None:
    monkeypatch.setattr(settle, "BATCH_ENTRIES", 64)
    full.add([{"role": "user", "content": f"I live in town {n}. HELLO"} for n in range(150)])
    full.settle()
    before = picture(full, name)
    calls = 0

    def killing(_done: int, _total: int) -> None:
        nonlocal calls
        calls += 1
        if calls == batch:
            raise Killed

    with pytest.raises(Killed):
        full.rebuild(name, progress=killing)
    assert full.stats().outdated == (name,)
    assert full.search("I live in town 3. HELLO", mode="lexical", k=1)
    again = open_memory()
    seen: list[int] = []
    again.rebuild(name, progress=lambda done, _: seen.append(done))
    assert seen[0] > 64 * batch  # what was done is not done again
    assert picture(again, name) == before
    assert again.stats().outdated == ()


@pytest.mark.both_engines
def test_searching_and_adding_go_on_while_a_rebuild_is_under_way(full: Memory) -> None:
    full.add([{"role": "user", "content": f"Number {n}."} for n in range(100)])
    counted: list[int] = []

    def meanwhile(done: int, _total: int) -> None:
        if not counted:
            full.add("Added while all was made anew.", source="meanwhile")
        counted.append(len(full.search("Porto", k=3)))

    full.rebuild("fragments", progress=meanwhile)
    assert set(counted) == {3}
    assert full.search("Added while all was made anew.", k=1)[0].source == "meanwhile"


@pytest.mark.both_engines
def test_a_rebuild_keeps_vectors_that_are_sound_and_makes_the_others_anew(
    full: Memory, open_memory: Open
) -> None:
    before = picture(full, "fragments")
    with full._space.write() as writer:
        writer.execute("UPDATE vector_data SET data = zeroblob(12) WHERE id = 1")
        writer.execute("DELETE FROM vector_data WHERE id = 2")
    full.close()
    embedder = HashingEmbedder()
    memory = open_memory(embedder=embedder)
    memory.rebuild("fragments")
    assert len(embedder.texts) == 2
    assert picture(memory, "fragments") == before


def test_what_only_a_model_can_make_again_is_not_dropped_without_one(
    full: Memory, no_llm: None
) -> None:
    from treering.errors import LLMNotConfigured

    with pytest.raises(LLMNotConfigured):
        full.rebuild("memo")
    assert [memo.topic for memo in full.memos.list()] == ["Ines in Porto"]
    assert full.stats().outdated == ()


@pytest.mark.both_engines
def test_a_view_that_fails_holds_up_no_other_and_is_pending(full: Memory) -> None:
    receipt = full.add("It RAISES.", source="odd")
    assert receipt.pending == 0
    assert full.search("raises", mode="lexical", k=1)[0].source == "odd"
    assert full.stats().pending["shouts"] == 1
    with pytest.raises(ViewError):
        full.settle()
    full.forget(source="odd")
    assert full.settle().pending == {}


@pytest.mark.both_engines
def test_a_view_that_is_new_to_a_long_journal_is_rebuilt_and_holds_up_no_add(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    memory = open_memory()
    memory.add([{"role": "user", "content": f"Line {n} is LONG."} for n in range(300)])
    memory.close()
    request.getfixturevalue("shouting")
    memory = open_memory()
    memory.add("This one is SHORT.")
    assert memory.stats().outdated == ("shouts",)
    assert [row[2] for row in rows(memory, "view_shouts")] == ["SHORT"]
    memory.settle()
    assert len(rows(memory, "view_shouts")) == 301


class Counted(SqliteDatabase):
    """Counts transactions; a read inside another transaction is none of its own."""

    def __init__(self, path: Path) -> None:
        self.counts = {"read": 0, "write": 0}
        self._depth = 0
        super().__init__(path)

    @contextmanager
    def read(self, space: str | None = None) -> Iterator[Reader]:
        with self._counted("read"), super().read(space) as reader:
            yield reader

    @contextmanager
    def write(self, *space: Any, **how: Any) -> Iterator[Writer]:
        with self._counted("write"), super().write(*space, **how) as writer:
            yield writer

    @contextmanager
    def _counted(self, kind: str) -> Iterator[None]:
        self.counts[kind] += self._depth == 0
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


def test_transactions_are_few(path: Path) -> None:
    database = Counted(path)
    with Memory(database, "default", HashingEmbedder(), None) as memory:
        fill(memory)
        for source in ("one", "two"):
            database.counts.update(read=0, write=0)
            memory.add("Ana moved to Porto.", source=source)
            assert database.counts == {"read": 3, "write": 2}
        memory.search("Who moved to Porto?")  # the first one learns who speaks
        database.counts.update(read=0, write=0)
        memory.search("Who moved to Porto?")
        assert database.counts == {"read": 2, "write": 0}


@pytest.mark.both_engines
def test_no_view_reads_the_space_of_another(full: Memory, open_memory: Open) -> None:
    before = {name: picture(full, name) for name in NAMES}
    other = open_memory(space="ben")
    fill(other)
    other.rebuild()
    other.forget(*(entry.id for entry in other.entries()))
    assert {name: picture(full, name) for name in NAMES} == before
