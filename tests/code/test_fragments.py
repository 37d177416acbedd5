"""Windows and blocks: how a source file is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.code.repositories import made_up
from treering.errors import InputError
from treering.split.text import WINDOW_LINES
from treering.views.code.parse.cuts import BLOCK_LINES, Lines, cut
from treering.views.code.parse.outline import NONE
from treering.views.code.parse.parser import parse


def numbered(count: int) -> str:
    return "".join(f"x{i} = {i}\n" for i in range(count))


def test_windows_of_20_lines_overlap_by_10() -> None:
    made = cut(parse(numbered(45), "python"), "windows")
    assert [(piece.first, piece.last) for piece in made] == [(1, 20), (11, 30), (21, 40), (31, 45)]


def test_a_short_file_is_one_window() -> None:
    places = [
        (piece.first, piece.last) for piece in cut(parse(numbered(45), "python"), "windows 30/5")
    ]
    assert places == [(1, 30), (26, 45)]
    with pytest.raises(InputError):
        cut(parse("x = 1", "python"), "windows 10/10")
    assert cut(parse("x = 1", "python"), "windows") == (Lines(1, 1, NONE),)


def test_blocks_follow_definitions_with_the_comments_above_them() -> None:
    text = (
        "import a\n\n# About f.\ndef f():\n    pass\n\n\nclass A:\n    def g(self):\n        pass\n"
    )
    parsed = parse(text, "python")
    made = [(p.first, p.last, p.definition) for p in cut(parsed, "blocks")]
    assert made == [(1, 2, NONE), (3, 5, 0), (8, 10, 1)]


def test_a_long_class_is_cut_into_its_methods() -> None:
    methods = "".join(f"    def m{i}(self):\n" + "        x = 1\n" * 20 for i in range(3))
    parsed = parse(f"class A:\n    y = 1\n\n{methods}", "python")
    names = [parsed.definitions[p.definition].qualified for p in cut(parsed, "blocks")]
    assert names == ["A", "A.m0", "A.m1", "A.m2"]


def test_a_long_function_is_cut_into_even_pieces() -> None:
    parsed = parse("def f():\n" + "    x = 1\n" * 99, "python")
    assert [(p.first, p.last) for p in cut(parsed, "blocks")] == [(1, 33), (34, 66), (67, 100)]


@settings(max_examples=25, deadline=None)
@given(made_up, st.sampled_from([1, 8]))
def test_blocks_cover_every_line_that_is_not_blank_once(texts: dict[str, str], copies: int) -> None:
    for text in texts.values():
        parsed = parse(text * copies, "python")
        covered = [line for p in cut(parsed, "blocks") for line in range(p.first, p.last + 1)]
        solid = {n for n, line in enumerate(parsed.lines(), start=1) if line.strip()}
        assert len(covered) == len(set(covered))
        assert solid <= set(covered)
        assert all(p.last - p.first < BLOCK_LINES for p in cut(parsed, "blocks"))
        assert all(p.last - p.first < WINDOW_LINES for p in cut(parsed, "windows"))
