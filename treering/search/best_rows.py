"""The best rows of a ranking."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from treering.arrays import Codes, Floats
from treering.records import Why
from treering.search.snapshot import Mask, Snapshot

GROUP = 64
"""Rows of which the best one is looked at first where few of many are looked for."""


class RankedRows(Protocol):
    """The rows of a snapshot of N fragments, ranked for Q queries.

    ``scores`` has shape (N, Q). ``by_row`` says whether each row has a score of its own.
    """

    @property
    def snapshot(self) -> Snapshot: ...  # noqa: D102

    @property
    def scores(self) -> Floats: ...  # noqa: D102

    @property
    def by_row(self) -> bool: ...  # noqa: D102

    def confidence(self, rows: Codes, query: int) -> list[float]:
        """The probability of each of some fragments that it answers a query."""
        ...

    def why(self, row: int, query: int) -> Why:
        """Why a fragment has its score for a query."""
        ...

    def margin(self, query: int) -> float:
        """How much two scores may differ by more or less than here, until ``best`` makes them
        exact.
        """
        ...

    def best(self, query: int, k: int, allowed: Mask | None = None) -> Codes:
        """The rows of the k best for a query that are ``allowed``, best first."""
        ...


def top_rows(scores: Floats, k: int, allowed: Mask | None) -> Codes:
    """The rows of the k highest of some scores, shape (N,), highest first; ties by row."""
    if allowed is not None:
        among = np.flatnonzero(allowed)
        best: Codes = among[top_rows(scores[among], k, None)]
        return best
    k = min(k, len(scores))
    if not k:
        return np.zeros(0, dtype=np.int64)
    rows = _rows_above(scores, k)
    leading = scores[rows]
    # All rows that reach the k-th best score: a partition alone would cut ties by chance.
    is_top = leading >= np.partition(leading, len(leading) - k)[len(leading) - k]
    order = np.argsort(-leading[is_top], kind="stable")
    top: Codes = rows[is_top][order][:k]
    return top


def _rows_above(scores: Floats, k: int) -> Codes:
    """Few rows, ascending, among which are all that reach the k-th best score."""
    groups = len(scores) // GROUP
    if groups <= k:
        return np.arange(len(scores))
    # The k-th best of the best of groups is reached by k scores or more, so by the k best of all;
    # there are few such, and the groups' best are found without sorting anything.
    best = scores[: groups * GROUP].reshape(GROUP, groups).max(axis=0)
    return np.flatnonzero(scores >= np.partition(best, groups - k)[groups - k])
