"""The rows of the highest scores."""

from __future__ import annotations

import numpy as np

from treering.arrays import Codes, Floats
from treering.search.snapshot import Mask

GROUP = 64
"""Rows of which the best one is looked at first where few of many are looked for."""


def top_rows(scores: Floats, k: int, allowed: Mask | None) -> Codes:
    """Return the rows of the k highest of some scores, shape (N,), highest first; ties by row."""
    if allowed is not None:
        among = np.flatnonzero(allowed)
        best: Codes = among[top_rows(scores[among], k, None)]
        return best
    k = min(k, len(scores))
    if not k:
        return np.zeros(0, dtype=np.int64)
    rows = _rows_above(scores, k)
    highest = scores[rows]
    # All rows that reach the k-th best score: a partition alone would cut ties by chance.
    is_top = highest >= np.partition(highest, len(highest) - k)[len(highest) - k]
    order = np.argsort(-highest[is_top], kind="stable")
    top: Codes = rows[is_top][order][:k]
    return top


def _rows_above(scores: Floats, k: int) -> Codes:
    """Return few rows, ascending, that hold all which reach the k-th best score."""
    groups = len(scores) // GROUP
    if groups <= k:
        return np.arange(len(scores))
    # The k-th best of the best of groups is reached by k scores or more, so by the k best of all;
    # there are few such, and the groups' best are found without sorting anything.
    best = scores[: groups * GROUP].reshape(GROUP, groups).max(axis=0)
    return np.flatnonzero(scores >= np.partition(best, groups - k)[groups - k])
