"""Which lines are due: over ten lines or 1,024 tokens, and the last exchange stays."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from treering.records import Entry
from treering.views.memos.due import Dialogue, Line, Window, batches

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def line(number: int, text: str = "word", role: str | None = None) -> Line:
    return Line(number, Entry(str(number), text, "chat", number, "chat", NOW, role=role))


def chat(count: int, text: str = "word") -> tuple[Line, ...]:
    return tuple(line(n, text, ("user", "assistant")[n % 2]) for n in range(count))


def words(text: str) -> int:
    return len(text.split())


PAPER = Window(10, 1_024, words)


def sizes(lines: tuple[Line, ...], window: Window = PAPER) -> tuple[list[int], int]:
    """The sizes of the batches, and of what stays."""
    due = [len(one) for one in batches(Dialogue("chat", (), lines), window)]
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


def test_lines_without_roles_keep_two() -> None:
    assert sizes(tuple(line(n) for n in range(11))) == ([9], 2)


def test_the_most_lines_and_tokens_can_be_set() -> None:
    assert sizes(chat(12), Window(4, 1_024, words)) == ([4, 4], 4)
    assert sizes(chat(6, "word " * 30), Window(10, 64, words)) == ([2, 2], 2)


def test_a_gap_is_due_however_short() -> None:
    dialogue = Dialogue("chat", ((line(3),), tuple(line(n) for n in range(5, 17))), chat(4))
    assert [[one.seq for one in batch] for batch in batches(dialogue, PAPER)] == [
        [3],
        [5, 6, 7, 8, 9, 10, 11, 12, 13],
        [14, 15, 16],
    ]


@given(
    st.lists(st.tuples(st.integers(0, 600), st.sampled_from(["user", "assistant", None]))),
    st.integers(0, 40),
)
def test_lines_that_come_one_by_one_make_the_same_batches_as_all_at_once(
    shapes: list[tuple[int, str | None]], cut: int
) -> None:
    lines = tuple(line(n, "word " * size, role) for n, (size, role) in enumerate(shapes))
    whole = list(batches(Dialogue("chat", (), lines), PAPER))
    early = list(batches(Dialogue("chat", (), lines[:cut]), PAPER))
    written = sum(map(len, early))
    late = list(batches(Dialogue("chat", (), lines[written:]), PAPER))
    assert early + late == whole
    flat = [one for batch in whole for one in batch]
    assert flat == list(lines[: len(flat)])
    assert len(lines) - len(flat) == sizes(lines)[1]
