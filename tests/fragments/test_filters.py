"""Filters that are read off the columns in memory find what the database finds."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.journal import entries
from treering.journal.contract import Reader
from treering.records import Filter
from treering.search import stored
from treering.search.searcher import Searcher
from treering.search.snapshot import allowed_rows
from treering.search.stored import MAX_KEYS, Metadata

EPOCH = datetime(2024, 5, 1, tzinfo=UTC)
SOURCES = ("books/a", "books/b", "books", "diary")
VALUES: tuple[Any, ...] = (1, 1.0, True, "1", "true", None, False, 0, 2.5, "ä\n'", [1], {"x": 1})

entry = st.fixed_dictionaries(
    {
        "source": st.sampled_from(SOURCES),
        "speaker": st.sampled_from([None, "Ana", "Ben"]),
        "session": st.sampled_from([None, "monday", "tuesday"]),
        "hour": st.one_of(st.none(), st.integers(0, 5)),
        "metadata": st.dictionaries(st.sampled_from("kt"), st.sampled_from(VALUES), max_size=2),
    }
)
times = st.one_of(st.none(), st.integers(0, 5).map(lambda hour: EPOCH + timedelta(hours=hour)))
conditions = st.builds(
    Filter,
    source=st.sampled_from([None, None, *SOURCES, "books/", "nowhere"]),
    speaker=st.sampled_from([None, None, "Ana", "Zoe"]),
    session=st.sampled_from([None, None, "monday", "sunday"]),
    kind=st.sampled_from([None, None, "text", "chat", "code"]),
    since=times,
    until=times,
    metadata=st.dictionaries(st.sampled_from("kt"), st.sampled_from(VALUES), max_size=2),
)


@contextmanager
def a_memory() -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "life.db"
        with Memory.open(path, embedder=HashingEmbedder(), llm="none") as memory:
            yield memory


def add(memory: Memory, number: int, fields: dict[str, Any]) -> str:
    at = None if fields["hour"] is None else EPOCH + timedelta(hours=fields["hour"])
    message = {"role": "user", "content": f"turn {number}"}
    if fields["speaker"]:
        message["name"] = fields["speaker"]
    receipt = memory.add(
        [message],
        source=fields["source"],
        at=at,
        session=fields["session"],
        metadata=fields["metadata"],
    )
    return receipt.ids[0]


def assert_as_the_database(memory: Memory, condition: Filter) -> None:
    searcher: Searcher = memory._views.searcher
    with searcher._corpus.reading() as (reader, snapshot):
        assert snapshot is not None
        expected = np.isin(
            snapshot.entry, list(entries.matching_seqs(reader, snapshot.state.id, condition))
        )
        allowed = allowed_rows(reader, snapshot, condition)
        found = np.ones(len(snapshot), dtype=np.bool_) if allowed is None else allowed
        np.testing.assert_array_equal(found, expected)


@given(
    first=st.lists(entry, min_size=1, max_size=6),
    later=st.lists(entry, max_size=3),
    asked=st.lists(conditions, min_size=1, max_size=8),
)
def test_filters_find_what_the_database_finds_before_and_after_changes(
    first: list[dict[str, Any]], later: list[dict[str, Any]], asked: list[Filter]
) -> None:
    def sound(condition: Filter) -> bool:
        return not (condition.since and condition.until and condition.since >= condition.until)

    asked = [condition for condition in asked if sound(condition)]
    with a_memory() as memory:
        ids = [add(memory, number, fields) for number, fields in enumerate(first)]
        for condition in asked:
            assert_as_the_database(memory, condition)
        for number, fields in enumerate(later, start=len(first)):
            ids.append(add(memory, number, fields))
        for condition in asked:
            assert_as_the_database(memory, condition)
        memory.forget(ids[0])
        for condition in [*asked, Filter(omit=frozenset(ids[1:2]))]:
            if len(ids) > 1:
                assert_as_the_database(memory, condition)


def test_a_condition_that_no_column_tells_is_checked_once_for_each_entry() -> None:
    with a_memory() as memory:
        ids = [memory.add(f"turn {n}", metadata={"n": n}).ids[0] for n in range(5)]
        late = Filter(metadata={"$or": [{"n": {"$gte": 3}}, {"n": 0}]})
        then = Filter(as_of=datetime(2000, 1, 1, tzinfo=UTC))
        for condition in (late, then, late):
            assert_as_the_database(memory, condition)
        memory.add("turn 5", metadata={"n": 5})
        assert_as_the_database(memory, late)
        memory.forget(ids[3])
        assert_as_the_database(memory, late)
        snapshot = memory._views.searcher.snapshot()
        assert snapshot is not None
        [mask, _] = [snapshot.metadata._masks[repr(condition)] for condition in (late, then)]
        assert mask.tolist() == [True, False, False, True, True]


def test_a_time_too_far_off_for_floats_is_left_to_the_database(open_memory: Open) -> None:
    memory = open_memory()
    far = datetime(9000, 1, 1, tzinfo=UTC)
    for step in range(3):
        memory.add(f"Day {step}", at=far + timedelta(microseconds=step))
    for step in range(3):
        since = far + timedelta(microseconds=step)
        assert_as_the_database(memory, Filter(since=since))
        assert len(memory.search("day", k=9, since=since)) == 3 - step


def test_the_keys_that_many_searches_filter_by_do_not_pile_up() -> None:
    with a_memory() as memory:
        memory.add("A note.", metadata={"k": 1, "t": "x"})
        for number in range(3 * MAX_KEYS):
            assert_as_the_database(memory, Filter(metadata={f"key {number}": number}))
            assert_as_the_database(memory, Filter(metadata={"k": 1}))
        snapshot = memory._views.searcher.snapshot()
        assert snapshot is not None
        kept = list(snapshot.metadata._values)
        assert len(kept) == MAX_KEYS
        assert kept[-1] == "k"
        assert_as_the_database(memory, Filter(metadata={"key 0": 0}))


def test_threads_may_filter_by_more_keys_than_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that others push out between two steps of a filter is no error."""
    monkeypatch.setattr(stored, "MAX_KEYS", 1)
    values, entry = Metadata(), np.zeros(0, dtype=np.int64)
    begun = threading.Barrier(4)

    def rows_with(of: int) -> int:
        begun.wait(10)
        # Without rows no value is read.
        return sum(
            len(values.rows_with(cast(Reader, None), 1, entry, f"{of}-{at}", "x"))
            for at in range(2_000)
        )

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(rows_with, range(4))) == [0] * 4
    finally:
        sys.setswitchinterval(before)
