"""The table in memory: however it was brought up to date, it equals one freshly loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
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

from tests.embedders import HashingEmbedder, down
from treering import Memory
from treering.fragments import store
from treering.fragments.table import Snapshot, Table
from treering.score.terms import terms

WORDS = ["ana", "moved", "to", "porto", "and", "her", "sister", "rows", "on", "the", "river", "every", "morning"]
QUERY = "porto river sister"
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


def loaded(memory: Memory, table: Table | None = None) -> Snapshot:
    with memory._database.read() as reader:
        state = store.state(reader, memory._space)
        assert state is not None
        return (table or Table()).snapshot(reader, state)


def groups(codes: Any) -> list[int]:
    """Codes by first occurrence: two tables may number the same groups differently."""
    seen: dict[int, int] = {}
    return [-1 if code == -1 else seen.setdefault(int(code), len(seen)) for code in codes.tolist()]


def assert_equal(found: Snapshot, expected: Snapshot) -> None:
    np.testing.assert_array_equal(found.fragment, expected.fragment)
    np.testing.assert_array_equal(found.entry, expected.entry)
    np.testing.assert_array_equal(found.kind, expected.kind)
    np.testing.assert_array_equal(found.embedded, expected.embedded)
    for name in ("document", "position", "at", "vectors"):
        np.testing.assert_array_equal(getattr(found.items, name), getattr(expected.items, name))
    for name in ("session", "speaker"):
        one, other = getattr(found.items, name), getattr(expected.items, name)
        assert groups(one) == groups(other)
    assert found.kinds == expected.kinds
    np.testing.assert_allclose(
        found.lexical.score(terms(QUERY)), expected.lexical.score(terms(QUERY)), rtol=1e-5
    )


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
        self.table = Table()
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
        with self.memory._database.read() as reader:
            known = store.state(reader, self.memory._space)
        if known is not None:
            assert_equal(loaded(self.memory, self.table), loaded(self.memory))


TestIncrementalTable = IncrementalTable.TestCase
TestIncrementalTable.settings = settings(deadline=None, max_examples=15, stateful_step_count=12)
