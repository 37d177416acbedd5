"""Metrics of code written in rounds."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering_bench.metrics.rounds import RoundScore, followed, pass_at_k


def test_a_dialogue_worked_by_hand() -> None:
    outcomes = [[True], [True, True], [False, True, True], [True, True, True, False]]
    assert list(followed(outcomes)) == [
        RoundScore(1.0, 1.0, None),
        RoundScore(1.0, 1.0, 0.0),
        RoundScore(1.0, 2 / 3, 0.5),
        RoundScore(0.0, 0.75, 0.0),
    ]


def test_what_was_never_met_cannot_be_forgotten() -> None:
    assert [one.ifr for one in followed([[False], [False, False]])] == [None, None]


@given(
    st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))
)
def test_pass_at_k_is_the_share_of_choices_with_a_program_that_passes(
    drawn: tuple[int, int, int],
) -> None:
    samples, passed, k = drawn
    chosen = list(combinations(range(samples), k))
    share = sum(min(some) < passed for some in chosen) / len(chosen)
    assert pass_at_k(samples, passed, k) == pytest.approx(share)
