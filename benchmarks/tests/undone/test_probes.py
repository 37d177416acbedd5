"""Made-up inputs: examples, their variations, and what a requirement speaks of."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from treering_bench.undone.probes import MOST_PROBES, examples, literals, probes
from treering_bench.undone.witnesses import witnesses

USED = '''\
def scale(values, factor):
    """Scale.

    >>> scale([7], 8)
    [56]
    """
    return [value * factor for value in values]


numbers = [1, 2]
print(scale(numbers, 3))
for sample, by in [([4], 5), ([], 6)]:
    scale(sample, by)
'''


def test_examples_are_the_calls_with_literals_known_names_and_doctests() -> None:
    shown = set(examples([USED], "scale"))
    assert {"([1, 2], 3)", "([7], 8)", "([4], 5)", "([], 6)"} <= shown


def test_every_argument_is_varied_while_the_others_stay() -> None:
    made = [ast.literal_eval(text) for text in probes(["f([1], 'a')"], "f")]
    assert ([], "a") in made
    assert ([1], "") in made
    assert ([1], None) in made
    assert (None, "a") in made


def test_without_examples_one_value_of_each_sort_is_tried_in_every_place() -> None:
    made = probes(["def f(a, b, c=1):\n    return a\n"], "f")
    assert "(0, 0)" in made
    assert "([], [])" in made


def test_text_that_is_not_python_shows_no_examples() -> None:
    assert examples(["def f(:", "f(1)"], "f") == ("(1,)",)


def test_there_is_a_limit_to_what_is_tried() -> None:
    calls = "\n".join(f"f({i}, 'a', [{i}])" for i in range(50))
    assert len(probes([calls], "f")) == MOST_PROBES


def test_what_cannot_be_written_down_is_not_tried() -> None:
    assert list(literals([(float("inf"),), (1,), (1,)])) == ["(1,)"]


@given(st.lists(st.tuples(st.integers() | st.text() | st.lists(st.floats()))))
def test_every_input_can_be_read_back(made_up: list[tuple[object, ...]]) -> None:
    for text in literals(made_up):
        assert repr(ast.literal_eval(text)) == text


def first_of(instruction: str, *example: object) -> object:
    return ast.literal_eval(witnesses(instruction, [example])[0])


def test_a_wrong_type_is_made_for_the_argument_of_that_type() -> None:
    assert first_of("raise a TypeError if the input is not a string", "abc", 2) == (123, 2)
    made = witnesses("raise a TypeError if n is not an integer", [([1], 2)])
    assert "([1], 'a')" in made
    assert "('a', 2)" not in made


def test_a_list_of_the_wrong_elements_is_made_too() -> None:
    made = witnesses("raise a TypeError if it is not a list of integers", [([1, 2],)])
    assert "([1, 'a'],)" in made


def test_edges_are_made_from_ordinary_arguments() -> None:
    assert first_of("handle an empty list", [1, 2]) == ([],)
    assert first_of("raise a ValueError if n is negative", 3) == (-1,)
    assert first_of("raise a ValueError if n is less than 5", 9) == (4,)


def test_wording_without_situations_has_no_witnesses() -> None:
    assert witnesses("sort the rows by their sums", [([1],)]) == ()
