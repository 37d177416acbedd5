"""The best rows of many, which are found without sorting all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.search.ranking import GROUP, top_rows


@pytest.mark.parametrize("levels", [3, 1_000_000])  # with ties, and mostly without
@given(
    size=st.integers(0, 20 * GROUP),
    k=st.integers(1, 30),
    share=st.sampled_from([None, 0.0, 0.01, 0.7]),
    seed=st.integers(0, 99),
)
def test_the_best_rows_are_the_first_of_all_in_order(
    levels: int, size: int, k: int, share: float | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(levels, size=size).astype(np.float32)
    allowed = None if share is None else rng.random(size) < share
    order = np.argsort(-scores, kind="stable")
    expected = order if allowed is None else order[allowed[order]]
    assert top_rows(scores, k, allowed).tolist() == expected[:k].tolist()
