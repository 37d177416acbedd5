"""Operators that take one score vector at a time, applied to the columns of a batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treering.arrays import Floats


def by_column(propagate: Callable[[Floats], Floats], scores: Floats) -> Floats:
    """``propagate`` of scores of shape (N,), or of each column of (N, Q); the same shape."""
    if scores.ndim == 1:
        return propagate(scores)
    if scores.shape[1] == 1:
        return propagate(scores[:, 0])[:, None]  # as it is, without a copy
    result = np.empty_like(scores)
    for column in range(scores.shape[1]):
        result[:, column] = propagate(scores[:, column])
    return result
