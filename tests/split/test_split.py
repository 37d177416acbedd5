"""Fragments are spans of an entry: nothing is lost, nothing is too long."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from treering.split import split
from treering.split.text import (
    MAX_FRAGMENT_CHARS,
    OVERLAP_LINES,
    WINDOW_LINES,
    spans,
    windows,
)

prose = st.lists(
    st.sampled_from(["word", "Sentence. ", "Why? ", "\n", "\n\n", " ", "\t", "。", "é", '."\n']),
    max_size=120,
).map("".join)


@given(text=st.one_of(prose, st.text(max_size=300)), limit=st.integers(1, 60))
def test_spans_of_text_are_the_text_without_gap_or_overlap(text: str, limit: int) -> None:
    found = spans(text, limit)
    assert "".join(text[start:stop] for start, stop in found) == text
    assert [stop for _, stop in found[:-1]] == [start for start, _ in found[1:]]
    assert all(0 < stop - start <= limit for start, stop in found)


@given(
    lines=st.lists(st.sampled_from(["", "x = 1", "    return x", "def f():"]), max_size=70),
    end=st.sampled_from(["", "\n"]),
)
def test_windows_of_code_cover_every_line_and_overlap_by_half(lines: list[str], end: str) -> None:
    code = "\n".join(lines) + end
    found = windows(code)
    covered = {at for start, stop in found for at in range(start, stop)}
    assert covered == set(range(len(code)))
    for start, stop in found:
        assert code[start:stop].count("\n") <= WINDOW_LINES
        assert start == 0 or code[start - 1] == "\n"
    for (_, stop), (start, _) in pairwise(found):
        assert code[start:stop].count("\n") == OVERLAP_LINES


@given(text=prose, kind=st.sampled_from(["text", "chat", "code"]))
def test_no_fragment_is_white_space_and_none_of_the_rest_is_lost(text: str, kind: str) -> None:
    found = split(text, kind)  # type: ignore[arg-type]
    assert all(text[start:stop].strip() for start, stop in found)
    covered = {at for start, stop in found for at in range(start, stop)}
    assert all(at in covered for at, character in enumerate(text) if not character.isspace())


def test_a_paragraph_that_fits_is_not_cut() -> None:
    paragraph = "One sentence. Another one follows. " * 10
    text = "\n\n".join([paragraph.strip()] * 6)
    found = [text[start:stop] for start, stop in spans(text)]
    assert all(piece.strip().count("One") % 10 == 0 for piece in found)
    assert len(found) < 6


def test_a_line_without_spaces_is_cut_anywhere() -> None:
    assert [stop - start for start, stop in spans("x" * 2_500)] == [
        MAX_FRAGMENT_CHARS,
        MAX_FRAGMENT_CHARS,
        500,
    ]
