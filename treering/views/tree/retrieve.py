"""Which nodes answer a query: all at once, or level by level (MemTree, 3.2 and A.3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from treering.errors import InputError
from treering.views.tree.shape import ROOT, Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Score = Callable[[Sequence[int]], Floats]
"""Scores of the given nodes for the query at hand, such as cosines."""


def collapsed(
    nodes: Ints, scores: Floats, k: int, *, least: float = -math.inf
) -> list[tuple[int, float]]:
    """The ``k`` best of all nodes with a score of at least ``least``, best first.

    ``nodes`` and ``scores`` have equal length; ``least`` is the paper's θ_retrieve. Equal scores
    stand in the order of ``nodes``.
    """
    _check(k, least)
    order = np.argsort(-scores, kind="stable")[:k]
    return [(int(nodes[i]), float(scores[i])) for i in order if scores[i] >= least]


def traversal(
    tree: Tree, score: Score, k: int, *, least: float = -math.inf
) -> list[tuple[int, float]]:
    """The ``k`` best at every level among the children of the last ``k`` best, level by level."""
    _check(k, least)
    picked: list[tuple[int, float]] = []
    level = tree.children(ROOT)
    while level:
        best = collapsed(np.array(level), score(level), k, least=least)
        picked += best
        level = [child for node, _ in best for child in tree.children(node)]
    return picked


def _check(k: int, least: float) -> None:
    if k < 1:
        raise InputError(f"k is {k}; ask for at least 1 node")
    if not isinstance(least, int | float) or math.isnan(least):
        raise InputError(f"least is {least!r}; it is a cosine, such as 0.4")
