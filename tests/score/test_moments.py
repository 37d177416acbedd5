"""Mean and deviation of few scores and of many."""

from __future__ import annotations

import numpy as np
import pytest

from treering.search.scores import FLAT, MANY, moments, standardise


def test_mean_and_deviation_are_those_of_double_precision() -> None:
    for size in (1, 7, MANY - 1, MANY, 2 * MANY + 3):
        for centre, spread in ((0.0, 1.0), (0.8, 0.01), (30.0, 5.0)):
            scores = np.random.default_rng(size).normal(centre, spread, size).astype(np.float32)
            exact = scores.astype(np.float64)
            assert moments(scores) == pytest.approx((exact.mean(), exact.std()), rel=1e-4, abs=1e-6)
            every_other = np.repeat(scores, 2)[::2]
            assert moments(every_other) == pytest.approx(moments(scores))


def test_equal_scores_have_no_deviation_to_be_blown_up() -> None:
    for size in (5, MANY):
        for value in (0.0, 0.1, -7.3, 1e4):
            scores = np.full(size, value, dtype=np.float32)
            assert moments(scores)[1] <= FLAT * max(abs(value), 1)
            assert not standardise(scores).any()
