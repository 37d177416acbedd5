"""Sums along chains that are longer than what is taken at once."""

from __future__ import annotations

import numpy as np

from treering.arrays import PIECE, Floats
from treering.search.relations.decay import Chains


def recursion(factors: Floats, scores: Floats) -> list[float]:
    """The definition, one item after the other."""
    links, values = factors.tolist(), scores.tolist()
    forward, backward = list(values), list(values)
    for at in range(1, len(values)):
        forward[at] += links[at] * forward[at - 1]
        backward[-1 - at] += links[len(values) - at] * backward[-at]
    return [f + b - s for f, b, s in zip(forward, backward, values, strict=True)]


def test_sums_are_those_of_the_recursion_across_all_pieces() -> None:
    for near in (0.0, 0.3, 0.9, 0.9999, 1.0):
        for size in (1, 2, 7, PIECE, 2 * PIECE + 5):
            rng = np.random.default_rng(size)
            factors = (near * rng.random(size) ** 0.01).astype(np.float32)
            factors[rng.random(size) < 0.001] = 0  # borders
            scores = rng.standard_normal(size, dtype=np.float32)
            before = scores.copy()
            sums = Chains(factors).sums(scores)
            np.testing.assert_allclose(sums, recursion(factors, scores), rtol=1e-4, atol=1e-3)
            np.testing.assert_array_equal(scores, before)
