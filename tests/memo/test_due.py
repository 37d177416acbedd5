"""Which lines are due: over ten lines or 1,024 tokens, and the last exchange stays."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from treering.records import Entry
from treering.views.choices import SpaceSettings
from treering.views.memos.settle import Dialogue

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def line(number: int, text: str = "word", role: str | None = None) -> Entry:
    return Entry(str(number), text, "chat", number, "chat", NOW, role=role)


def chat(count: int, text: str = "word") -> tuple[Entry, ...]:
    return tuple(line(n, text, ("user", "assistant")[n % 2]) for n in range(count))


def words(text: str) -> int:
    return len(text.split())


PAPER = SpaceSettings()


def batches(
    recent: tuple[Entry, ...], *gaps: tuple[Entry, ...], settings: SpaceSettings = PAPER
) -> list[list[int]]:
    """The lines of each batch."""
    by_seq = [{line.position: line for line in lines} for lines in (*gaps, recent)]
    dialogue = Dialogue("chat", by_seq[:-1], by_seq[-1])
    return [list(batch) for batch in dialogue.batches(settings, words)]


def sizes(lines: tuple[Entry, ...], settings: SpaceSettings = PAPER) -> tuple[list[int], int]:
    """The sizes of the batches, and of the rest."""
    due = [len(batch) for batch in batches(lines, settings=settings)]
    return due, len(lines) - sum(due)


def test_ten_lines_are_recent_and_of_more_the_last_exchange_is() -> None:
    assert sizes(chat(10)) == ([], 10)
    assert sizes(chat(12)) == ([10], 2)
    assert sizes(chat(11)) == ([10], 1)
    assert sizes(chat(32)) == ([10, 10, 10], 2)


def test_a_long_line_makes_what_is_before_it_due() -> None:
    assert sizes((*chat(4), line(4, "word " * 1024, "user"))) == ([4], 1)
    assert sizes(chat(4, "word " * 300)) == ([2], 2)
    assert sizes((line(0, "word " * 5000, "user"), line(1, "word", "assistant"))) == ([], 2)


def test_the_most_lines_and_tokens_can_be_set() -> None:
    assert sizes(chat(12), SpaceSettings(memo_lines=4)) == ([4, 4], 4)
    assert sizes(chat(6, "word " * 30), SpaceSettings(memo_tokens=64)) == ([2, 2], 2)


def test_a_gap_is_due_however_short() -> None:
    gaps = ((line(3),), tuple(line(n) for n in range(5, 17)))
    assert batches(chat(4), *gaps) == [[3], [*range(5, 14)], [14, 15, 16]]


@given(
    st.lists(st.tuples(st.integers(0, 600), st.sampled_from(["user", "assistant", None]))),
    st.integers(0, 40),
)
def test_lines_that_come_one_by_one_make_the_same_batches_as_all_at_once(
    shapes: list[tuple[int, str | None]], cut: int
) -> None:
    lines = tuple(line(n, "word " * size, role) for n, (size, role) in enumerate(shapes))
    whole = batches(lines)
    early = batches(lines[:cut])
    written = sum(map(len, early))
    assert early + batches(lines[written:]) == whole
    flat = [place for batch in whole for place in batch]
    assert flat == list(range(len(flat)))
    assert len(lines) - len(flat) == sizes(lines)[1]
