"""Parts that bear behaviour, comparable under renaming and reshaping."""

from __future__ import annotations

import pytest

from treering.views.code.parse.parts import Parts, read_definition
from treering.views.code.parse.pieces import CodePiece

SOURCE = '''\
@cached
def scale(values, factor=2, *rest):
    """Scale."""
    if not isinstance(values, list):
        raise TypeError("values must be a list")
    scaled = [value * factor for value in values]
    values.count = len(scaled)
    return scaled
'''
FLAT = "def scale(a):\n    b(a)\n    if a:\n        c(a)\n"
NESTED = "def scale(a):\n    if a:\n        c(a)\n        b(a)\n"


def behaviour(source: str) -> Parts:
    return CodePiece("a.py", "scale", "python", source, is_function=True).behaviour()


def test_every_sort_of_part_is_found_with_its_line() -> None:
    parts = read_definition(SOURCE, "scale", "python") or ()
    expected = {
        "guard": ["TypeError if not isinstance ( p0 , list )"],
        "raise": ["TypeError"],
        "default": ["2"],
        "decorator": ["@ cached"],
        "return": ["return _"],
        "effect": ["p0 . count"],
        "call": ["isinstance", "TypeError", "len"],
        "branch": ["not isinstance ( p0 , list )"],
    }
    for kind, texts in expected.items():
        assert [part.text for part in parts if part.kind == kind] == texts
    assert [part.first_line for part in parts if part.kind == "guard"] == [5]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (SOURCE, SOURCE.replace("values", "items").replace("scaled", "out"), True),
        (SOURCE, SOURCE.replace("values.count", "values.total"), False),
        (FLAT, NESTED, True),
        (SOURCE, "def scale(a):\n    return 1\n" + SOURCE, True),  # the last definition counts
    ],
    ids=["renamed", "another effect", "order and nesting", "twice"],
)
def test_names_order_and_nesting_do_not_matter(one: str, other: str, same: bool) -> None:
    assert (behaviour(one) == behaviour(other)) is same


def test_a_definition_that_is_not_there_has_no_behaviour() -> None:
    assert read_definition(SOURCE, "shrink", "python") is None
