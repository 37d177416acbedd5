"""Metrics of code written in rounds."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.errors import InputError
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


def test_a_round_must_say_of_every_instruction_so_far() -> None:
    with pytest.raises(InputError, match="round 1 has 1 outcomes; it must have 2"):
        list(followed([[True], [True]]))


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


@pytest.mark.parametrize(("samples", "passed", "k"), [(0, 0, 1), (3, 4, 1), (3, 1, 4), (3, -1, 1)])
def test_pass_at_k_of_what_cannot_be_is_refused(samples: int, passed: int, k: int) -> None:
    with pytest.raises(InputError, match="k must be 1 to"):
        pass_at_k(samples, passed, k)
