"""Which lines are due: over ten lines or 1,024 tokens, and the last exchange stays."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from treering.records import Entry
from treering.views.memos.due import Dialogue, Line, batches, recent

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def line(number: int, text: str = "word", role: str | None = None) -> Line:
    return Line(number, Entry(str(number), text, "chat", number, "chat", NOW, role=role))


def chat(count: int, text: str = "word") -> tuple[Line, ...]:
    return tuple(line(n, text, ("user", "assistant")[n % 2]) for n in range(count))


def words(text: str) -> int:
    return len(text.split())


def sizes(lines: tuple[Line, ...]) -> tuple[list[int], int]:
    dialogue = Dialogue("chat", (), lines)
    return [len(one) for one in batches(dialogue, words)], len(recent(dialogue, words))


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


def test_a_gap_is_due_however_short() -> None:
    dialogue = Dialogue("chat", ((line(3),), tuple(line(n) for n in range(5, 17))), chat(4))
    assert [[one.seq for one in batch] for batch in batches(dialogue, words)] == [
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
    whole = list(batches(Dialogue("chat", (), lines), words))
    early = list(batches(Dialogue("chat", (), lines[:cut]), words))
    written = sum(map(len, early))
    late = list(batches(Dialogue("chat", (), lines[written:]), words))
    assert early + late == whole
    left = recent(Dialogue("chat", (), lines), words)
    assert (*(one for batch in whole for one in batch), *left) == lines
