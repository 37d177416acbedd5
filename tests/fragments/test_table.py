"""The table in memory: however it was brought up to date, it equals one freshly loaded."""

from __future__ import annotations

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from tests.conftest import Open
from tests.embedders import HashingEmbedder, down
from tests.examples import examples
from treering import Memory, arrays
from treering.arrays import Floats, quantise_rows, restore_rows
from treering.journal import entries
from treering.journal.space import NOWHERE
from treering.search.relations.contract import Relations
from treering.search.relations.decay import ContextRelation
from treering.search.snapshot import Snapshot
from treering.search.terms import terms
from treering.search.vectors import VectorBlocks
from treering.views.fragments.table import Table

WORDS = ("ana", "moved", "to", "porto", "her", "sister", "rows", "on", "the", "river", "daily")
QUERY = "porto river sister"
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


def loaded(memory: Memory, table: Table | None = None) -> Snapshot:
    with (table or Table(memory._space)).reading() as (_, snapshot):
        assert snapshot is not None
        return snapshot


def groups(codes: Any) -> list[int]:
    """Codes by first occurrence: two tables may number the same groups differently."""
    seen: dict[int, int] = {}
    return [-1 if code == -1 else seen.setdefault(int(code), len(seen)) for code in codes.tolist()]


def assert_equal(found: Snapshot, expected: Snapshot) -> None:
    np.testing.assert_array_equal(found.fragment, expected.fragment)
    np.testing.assert_array_equal(found.entry, expected.entry)
    np.testing.assert_array_equal(found.kind, expected.kind)
    np.testing.assert_array_equal(found.embedded, expected.embedded)
    np.testing.assert_array_equal(floats(found), in_as_many_bits(floats(expected), found))
    assert_same_order(found, expected)
    for name in ("document", "position", "at"):
        np.testing.assert_array_equal(getattr(found.items, name), getattr(expected.items, name))
    for name in ("session", "speaker"):
        one, other = getattr(found.items, name), getattr(expected.items, name)
        assert groups(one) == groups(other)
    assert found.kinds == expected.kinds
    np.testing.assert_allclose(
        found.lexical.score(terms(QUERY)), expected.lexical.score(terms(QUERY)), rtol=1e-5
    )


def floats(snapshot: Snapshot) -> Floats:
    return np.asarray(snapshot.items.vectors)


def in_as_many_bits(vectors: Floats, snapshot: Snapshot) -> Floats:
    """What a snapshot's matrix makes of vectors."""
    matrix = snapshot.items.vectors
    assert isinstance(matrix, VectorBlocks)
    return vectors if matrix.is_exact else restore_rows(*quantise_rows(vectors))


def assert_same_order(found: Snapshot, expected: Snapshot) -> None:
    order, right = found.items.reading, expected.items.reading
    assert order is not None
    assert right is not None
    for name in ("rows", "follows", "continues", "sources", "firsts"):
        np.testing.assert_array_equal(getattr(order, name), getattr(right, name), err_msg=name)
    plain = np.array_equal(order.rows, np.arange(len(order)))
    assert not order.is_plain or plain


CONTEXTS = [ContextRelation(0.6, within="session"), ContextRelation(0.3), ContextRelation(0.0)]


def assert_same_environment(found: Snapshot, relations: Relations) -> None:
    """Operators that were brought up to date do as those that are bound anew."""
    own = np.random.default_rng(len(found)).normal(size=len(found)).astype(np.float32)
    for context in CONTEXTS:
        bound = relations.bound(context, found.items, found.version, found.change)
        fresh = Relations().bound(context, found.items, found.version)
        np.testing.assert_allclose(bound.share, fresh.share, rtol=1e-6)
        np.testing.assert_array_equal(bound.operator.propagate(own), fresh.operator.propagate(own))


class IncrementalTable(RuleBasedStateMachine):
    """One table sees every change; another handle changes the file too."""

    entries: Bundle[str] = Bundle("entries")
    folder: Path

    @initialize()
    def open(self) -> None:
        import tempfile

        self.scratch = tempfile.TemporaryDirectory()
        path = Path(self.scratch.name) / "life.db"
        self.embedder = HashingEmbedder()
        self.memory = Memory.open(path, embedder=self.embedder)
        self.other = Memory.open(path, space="other", embedder=HashingEmbedder())
        sizes = (0, 4, 1_000)  # rows from which a table has eight bits: always, soon, never
        self.tables = [Table(self.memory._space, exact_rows=rows) for rows in sizes]
        self.relations = [Relations() for _ in sizes]
        self.models = 0

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()
            self.other.close()
            self.scratch.cleanup()

    @rule(target=entries, text=texts, source=st.sampled_from(["novel", "diary"]))
    def add_text(self, text: str, source: str) -> Any:
        return multiple(*self.memory.add(text, source=source).ids)

    @rule(
        target=entries,
        said=st.lists(st.tuples(st.sampled_from(["Ana", "Ben"]), texts), min_size=1, max_size=4),
        at=st.integers(0, 40_000),
        session=st.sampled_from([None, "monday"]),
    )
    def add_chat(self, said: list[tuple[str, str]], at: int, session: str | None) -> Any:
        messages = [
            {"role": "user", "name": name, "content": text, "at": at + 60 * place}
            for place, (name, text) in enumerate(said)
        ]
        return multiple(*self.memory.add(messages, session=session).ids)

    @rule(text=texts)
    def add_elsewhere(self, text: str) -> None:
        self.other.add(text, source="novel")

    @rule(entry=entries, text=texts)
    def replace(self, entry: str, text: str) -> None:
        self.memory.replace(entry, text)

    @rule(entry=consumes(entries))
    def forget(self, entry: str) -> None:
        self.memory.forget(entry)

    @rule(target=entries, text=texts)
    def add_while_the_model_is_down(self, text: str) -> Any:
        self.embedder.tamper = down
        ids = self.memory.add(text, source="outage").ids
        self.embedder.tamper = None
        return multiple(*ids)

    @rule()
    def settle(self) -> None:
        self.memory.settle()

    @precondition(lambda self: self.models < 3)
    @rule()
    def reembed(self) -> None:
        self.models += 1
        self.embedder = HashingEmbedder(f"hashing-{self.models}", 16 * self.models)
        self.memory.reembed(self.embedder)

    @invariant()
    def the_table_equals_one_freshly_loaded(self) -> None:
        with self.memory._space.read() as reader:
            is_there = reader.id != NOWHERE
        if not is_there:
            return
        fresh = loaded(self.memory)
        for table, relations in zip(self.tables, self.relations, strict=True):
            snapshot = loaded(self.memory, table)
            assert_equal(snapshot, fresh)
            assert_same_environment(snapshot, relations)


TestIncrementalTable = IncrementalTable.TestCase
TestIncrementalTable.settings = settings(examples(15), stateful_step_count=12)


@given(first=texts, second=texts, forgotten=st.booleans())
def test_a_reader_of_an_older_state_does_not_turn_the_table_back(
    first: str, second: str, forgotten: bool
) -> None:
    """Threads may reach the table in another order than that in which they began to read."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "life.db"
        embedder = HashingEmbedder()
        with (
            Memory.open(path, embedder=embedder) as memory,
            Memory.open(path, embedder=embedder) as other,
        ):
            memory.add(first, source="novel")
            last = memory.add(f"{second} again", source="novel").ids[0]
            table = Table(memory._space)
            before = loaded(memory, table)
            with memory._database.read():
                assert memory.stats().entries == 2  # this is when the transaction begins
                if forgotten:
                    _erase(other, last)
                else:
                    other.add(f"{second} once more", source="novel")
                table._space = other._space  # as a thread would that begins to read now
                newer = loaded(other, table)
                table._space = memory._space
                old = loaded(memory, table)
            assert_equal(old, before)
            assert old.version not in (before.version, newer.version)
            assert_equal(loaded(memory, table), loaded(memory))


def _erase(memory: Memory, entry: str) -> None:
    """Forget, without the scrubbing that would wait for the reader."""
    with memory._space.write() as writer:
        seq, _ = entries.find(writer, writer.id, entry)
        memory._views.eraser.remove(writer, [seq])


def test_searching_while_others_add_and_forget_never_fails(open_memory: Open) -> None:
    memory = open_memory()
    memory.add([{"role": "user", "content": f"Porto {n}"} for n in range(30)])
    stop = threading.Event()

    def keep_searching(_: int) -> int:
        searches = 0
        while not stop.is_set():
            assert memory.search("porto river", k=5)
            searches += 1
        return searches

    with ThreadPoolExecutor(4) as pool:
        running = pool.map(keep_searching, range(4))
        try:
            for number in range(40):
                new = memory.add(f"The river {number} in Porto.", source="rivers").ids
                if number % 2:
                    _erase(memory, new[0])
        finally:
            stop.set()
        assert all(running)


@pytest.mark.both_engines
def test_a_table_that_two_threads_load_is_that_of_one(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    ids: list[str] = []
    for day in range(12):  # a block holds half as many as there are already
        said = [
            {"role": "user", "name": f"speaker {day % 5}", "content": f"{WORDS[n % 9]} {day}"}
            for n in range(40 + 10 * day)
        ]
        ids += memory.add(said, source=f"day {day % 3}", session=f"{day % 4}").ids
    memory.forget(ids[3])
    memory.forget(ids[400])
    alone = [loaded(memory, Table(memory._space, exact_rows=rows)) for rows in (0, 1_000_000)]
    monkeypatch.setattr(arrays, "WORTHWHILE", 1)
    for rows, expected in zip((0, 1_000_000), alone, strict=True):
        together = loaded(memory, Table(memory._space, exact_rows=rows))
        assert_equal(together, expected)
        np.testing.assert_array_equal(together.vector_number, expected.vector_number)
        assert together.speakers == expected.speakers


def test_vectors_that_come_late_and_after_a_forget_are_placed_by_one_thread(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "WORTHWHILE", 1)
    model = HashingEmbedder()
    memory = open_memory(embedder=model)
    memory.add("The first has a vector.")
    model.tamper = down
    said = [{"role": "user", "content": f"{WORDS[n % 9]} {n} {n % 7}"} for n in range(4_000)]
    ids = memory.add(said).ids
    table = Table(memory._space, exact_rows=0)
    loaded(memory, table)  # searches have seen all rows, and most have no vector
    memory.forget(ids[5])
    model.tamper = None
    memory.settle()
    late = loaded(memory, table)
    assert late.embedded.all()
    assert_equal(late, loaded(memory, Table(memory._space, exact_rows=0)))
