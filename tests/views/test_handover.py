"""What an ``add`` hands to the views is what reading it back would give, and is let go after."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.examples import examples
from tests.views.pictures import TABLES, content, views
from treering import Memory
from treering.ingest.drafts import Envelope
from treering.journal import entries
from treering.journal.writing import Stored
from treering.records import Entry
from treering.views.contract import BATCH_ENTRIES, Handover

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40
).filter(str.strip)
STATEMENT_COLUMNS = 13

NAMES = st.none() | st.sampled_from(["Ana", "Ünsal", "日本"])
TIMES = st.none() | st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"content": TEXTS, "role": st.sampled_from(["user", "assistant"])},
        optional={
            "name": NAMES,
            "session": NAMES,
            "at": TIMES,
            "metadata": st.dictionaries(TEXTS, VALUES, max_size=3),
        },
    ),
    min_size=1,
    max_size=5,
)


def take_in(memory: Memory, content: Any, source: str = "chat") -> None:
    """Add, and stop before the views read it, as a process does that is killed then."""
    memory._intake.add(content, source, Envelope())


def handed_over(memory: Memory) -> dict[int, Stored]:
    return memory._views.handover.all()


def undated(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows without when they were made, which stands last in those of statements."""
    return [row[:-1] if len(row) == STATEMENT_COLUMNS else row for row in rows]


@examples(20)
@given(MESSAGES)
def test_what_is_handed_over_is_what_reading_it_gives(
    memory: Memory, messages: list[dict[str, Any]]
) -> None:
    if memory.stats().entries:
        memory.forget(source="chat")
    take_in(memory, messages)
    handed = handed_over(memory)
    with memory._space.read() as reader:
        assert {seq: stored.entry for seq, stored in handed.items()} == entries.by_seq(
            reader, list(handed)
        )
        assert {seq: stored.digest for seq, stored in handed.items()} == entries.digests_by_seq(
            reader, list(handed)
        )
    assert len(handed) == len(messages)
    memory.settle()


@pytest.mark.both_engines
def test_views_make_the_same_of_what_was_handed_over_and_of_what_was_read(
    open_memory: Open, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("handover") / "handed.db"
    said = [
        {"role": "user", "name": "Ana", "content": f"I live in Porto, at number {number}."}
        for number in range(70)
    ]
    handed, read = open_memory(path), open_memory(path.with_name("read.db"))
    handed.add(said)
    take_in(read, said)
    read._views.handover.clear()
    read.settle()
    for view in views(handed):
        for table in TABLES[view.name]:
            assert undated(content(handed, table)) == undated(content(read, table))


@pytest.mark.both_engines
def test_what_was_changed_before_it_was_read_is_read_anew(open_memory: Open) -> None:
    first, second = open_memory(), open_memory()
    take_in(first, "Ana keeps bees.")
    [seq] = handed_over(first)
    with first._space.read() as reader:
        identity = entries.by_seq(reader, [seq])[seq].id
    second.replace(identity, "Ana keeps goats.")
    first.add("Ben sails.")
    assert [hit.text for hit in first.search("goats", k=1)] == ["Ana keeps goats."]
    assert all("bees" not in hit.text for hit in first.search("bees", k=5))


@pytest.mark.both_engines
def test_what_was_erased_before_it_was_read_stays_erased(open_memory: Open) -> None:
    first, second = open_memory(), open_memory()
    take_in(first, "Ana keeps bees.", "diary")
    second.forget(source="diary")
    first.add("Ben sails.")
    assert [hit.text for hit in first.search("bees", k=5)] == ["Ben sails."]


def test_nothing_is_kept_once_the_views_have_read_it(memory: Memory) -> None:
    memory.add("Ana keeps bees.")
    assert handed_over(memory) == {}


def test_no_more_is_kept_than_views_take_in_at_once() -> None:
    entry = Entry("id", "text", "notes", 0, "text", datetime(2026, 1, 1, tzinfo=UTC))
    handover = Handover()
    handover.put({seq: Stored(entry, b"") for seq in range(BATCH_ENTRIES)})
    assert len(handover.all()) == BATCH_ENTRIES
    handover.put({BATCH_ENTRIES: Stored(entry, b"")})
    assert handover.all() == {}


def test_threads_hand_over_at_once() -> None:
    entry = Entry("id", "text", "notes", 0, "text", datetime(2026, 1, 1, tzinfo=UTC))
    handover, interval, threads = Handover(), sys.getswitchinterval(), 8

    def put(thread: int) -> None:
        for seq in range(500):
            handover.put({1000 * thread + seq: Stored(entry, b"")})

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(put, range(threads)))
    finally:
        sys.setswitchinterval(interval)
    assert len(handover.all()) <= BATCH_ENTRIES
