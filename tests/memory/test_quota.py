"""The size of a space is counted exactly, and a full one stores nothing more."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from treering import Memory
from treering.errors import QuotaExceeded
from treering.journal.ledger import Quota
from treering.memory import memory_parts

pytestmark = pytest.mark.both_engines


def counted(memory: Memory) -> list[tuple[int, ...]]:
    """The counters of all spaces, the hidden ones too, and the same measured, row by row."""
    with memory_parts(memory).space.database.read() as reader:
        rows = reader.rows(
            "SELECT s.entries, s.bytes, s.assistant, count(e.seq),"
            " coalesce(sum(length(CAST(b.text AS BLOB)) + length(CAST(b.metadata AS BLOB))), 0),"
            " coalesce(sum(CASE WHEN b.role = 'assistant' THEN 1 ELSE 0 END), 0)"
            " FROM space s LEFT JOIN entry e ON e.space = s.id LEFT JOIN body b ON b.id = e.body"
            " GROUP BY s.id, s.entries, s.bytes, s.assistant ORDER BY s.id"
        )
        return [tuple(map(int, row)) for row in rows]


def limit(memory: Memory, **limits: Any) -> None:
    memory_parts(memory).space.database.quota = Quota(**limits)


@pytest.mark.parametrize("seed", range(2))
def test_the_counters_follow_whatever_happens_to_entries(memory: Memory, seed: int) -> None:
    dice = random.Random(seed)
    for number in range(24):
        ids = [entry.id for entry in memory.entries()]
        act = dice.choice(["add", "add", "chat", "replace", "retract", "restore", "forget", "copy"])
        if act == "add" or not ids:
            memory.add(f"Zoë counts to {number}. " * dice.randint(1, 4), metadata={"é": number})
        elif act == "chat":
            reply = {"role": "assistant", "content": f"So do I, to {number}."}
            memory.add([{"role": "user", "content": f"I count to {number}."}, reply])
        elif act == "replace":
            memory.replace(dice.choice(ids), f"Zoë counts beyond {number}.")
        elif act == "retract":
            memory.retract(dice.choice(ids))
        elif act == "restore" and (held := memory.withheld()):
            memory.restore(held[0].entry.id)
        elif act == "forget":
            memory.forget(dice.choice(ids))
        elif act == "copy":
            memory.import_(list(memory.export()))
    lines = list(memory.export())
    memory.forget(next(iter(memory.entries())).id)
    memory.import_(lines, again_forgotten=True)
    found = counted(memory)
    assert [row[:3] for row in found] == [row[3:] for row in found]
    stats = memory.stats()
    assert (stats.entries, stats.text_bytes) in {row[:2] for row in found}


@pytest.mark.parametrize(
    "fill",
    [
        lambda memory: memory.add("One more."),
        lambda memory: memory.add([{"content": "One."}, {"content": "Two."}], source="talk"),
        lambda memory: memory.replace(next(iter(memory.entries())).id, "y" * 3_000),
        lambda memory: memory.add("x" * 3_000),
    ],
)
def test_a_full_space_stores_nothing_more(memory: Memory, fill: Callable[[Memory], object]) -> None:
    memory.add("Ana lives in Porto.")
    memory.add("Bob likes tea.")
    before = list(memory.entries())
    limit(memory, entries=2, bytes=2_000)
    with pytest.raises(QuotaExceeded):
        fill(memory)
    assert list(memory.entries()) == before
    assert counted(memory)[0][:3] == counted(memory)[0][3:]
    memory.add("Bob likes tea.")  # it is known, so nothing is stored
    memory.forget(before[0].id)
    memory.add("Ana lives in Faro.")
    assert memory.stats().quota == {"entries": 2, "bytes": 2_000}


def test_a_full_history_refuses_a_correction_before_it_is_done(memory: Memory) -> None:
    old, new = memory.add("One.").ids + memory.add("Two.").ids
    limit(memory, entries=2)
    memory.supersede(old, new)
    memory.supersede(old, None)
    before = list(memory.entries())
    with pytest.raises(QuotaExceeded):
        memory.supersede(old, new)
    with pytest.raises(QuotaExceeded):
        memory.replace(old, "Uno.")
    assert list(memory.entries()) == before


def test_an_import_with_too_many_withheld_entries_is_refused_as_a_whole(
    memory: Memory, open_memory: Open, tmp_path: Path
) -> None:
    for text in ("one", "two"):
        memory.retract(memory.add(text).ids[0])
    memory.add("three")
    lines = list(memory.export())
    other = open_memory(tmp_path / "other.db")
    limit(other, entries=3)  # of the four that are withheld entries or corrections
    with pytest.raises(QuotaExceeded):
        other.import_(lines)
    assert other.spaces() == []
    limit(other, entries=4)
    assert other.import_(lines).added == 1
    assert other.import_(lines).unchanged == 1
    assert len(other.withheld()) == 2
