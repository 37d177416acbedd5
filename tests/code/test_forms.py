"""Parts in another form: calls that are taken off a value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.views.code.guard.forms import taken_off

NAMES = st.sampled_from(["a", "b", "c"])


@pytest.mark.parametrize(
    ("then", "now", "calls"),
    [
        ("return round ( _ , 2 )", "return _", {"round"}),
        ("return round ( _ / p0 , 2 )", "return _ / p0", {"round"}),
        ("_ = math . floor ( p0 )", "_ = p0", {"floor"}),
        ("return float ( p0 . strip ( ) )", "return float ( p0 )", {"strip"}),
        (
            'return float ( p0 . strip ( ) . replace ( "," , "." ) )',
            "return float ( p0 )",
            {"strip", "replace"},
        ),
        ("return sorted ( list ( p0 ) )", "return sorted ( p0 )", {"list"}),
        ("return f ( p0 ) + g ( p1 )", "return p0 + g ( p1 )", {"f"}),
    ],
)
def test_a_call_around_or_behind_a_value_is_found(then: str, now: str, calls: set[str]) -> None:
    assert taken_off(then, now) == calls


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("return round ( _ , 2 )", "return round ( _ , 3 )"),
        ("return round ( _ , 2 )", "return 2"),
        ("return p0 . name", "return p0"),
        ("return p0 + p1", "return p0"),
        ("return f ( p0 ) . x", "return p1 . x"),
        ("return _", "return round ( _ , 2 )"),
    ],
)
def test_what_differs_in_anything_else_is_not(then: str, now: str) -> None:
    assert taken_off(then, now) == frozenset()


@given(st.lists(NAMES, min_size=1, max_size=4), NAMES, st.lists(NAMES, max_size=2))
def test_any_chain_of_calls_behind_a_value_is_found(
    calls: list[str], value: str, arguments: list[str]
) -> None:
    inside = " , ".join(arguments)
    chain = " ".join(f". {name} ( {inside} )" if inside else f". {name} ( )" for name in calls)
    assert taken_off(f"return {value} {chain} ;", f"return {value} ;") == set(calls)
