"""Which nodes answer a query: all at once, or level by level (MemTree, 3.2 and A.3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from treering.errors import InputError
from treering.tree.shape import ROOT, Tree

Score = Callable[[Sequence[int]], NDArray[np.float32]]
"""Scores of the given nodes for the query at hand, such as cosines."""


def collapsed(
    nodes: Sequence[int], score: Score, k: int, *, least: float = -math.inf
) -> list[tuple[int, float]]:
    """The ``k`` best of all nodes with a score of at least ``least``, best first.

    ``least`` is the paper's θ_retrieve. Equal scores stand in the order of ``nodes``.
    """
    _check(k)
    return _best(nodes, score, k, least)


def traversal(
    tree: Tree, score: Score, k: int, *, least: float = -math.inf
) -> list[tuple[int, float]]:
    """The ``k`` best at every level among the children of the last ``k`` best, level by level."""
    _check(k)
    found: list[tuple[int, float]] = []
    level = tree.children(ROOT)
    while level:
        best = _best(level, score, k, least)
        found += best
        level = [child for node, _ in best for child in tree.children(node)]
    return found


def without_relatives(tree: Tree, ranked: Iterable[int]) -> list[int]:
    """``ranked`` without every node that has an ancestor or descendant ranked before it."""
    kept: list[int] = []
    taken: set[int] = set()
    above_taken: set[int] = set()
    for node in ranked:
        path = tree.path(node)
        if node in above_taken or not taken.isdisjoint(path):
            continue
        kept.append(node)
        taken.add(node)
        above_taken.update(path)
    return kept


def _best(nodes: Sequence[int], score: Score, k: int, least: float) -> list[tuple[int, float]]:
    if not nodes:
        return []
    scores = score(nodes)
    order = np.argsort(-scores, kind="stable")[:k]
    return [(nodes[i], float(scores[i])) for i in order if scores[i] >= least]


def _check(k: int) -> None:
    if k < 1:
        raise InputError(f"k is {k}; ask for at least 1 node")
