"""How good a hierarchy is: the Moseley-Wang revenue, and β of the data (MemTree, appendix B).

Both are computed from sums of vectors. The pairs of leaves whose lowest common ancestor is v weigh
``(|Σ x|² − Σ_children |Σ x|²) / 2`` together, so the revenue takes O(nodes · d) instead of O(N³).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.views.tree.family import FIXED_POINT
from treering.views.tree.shape import ROOT, Tree

SAMPLED_LEAVES: Final = 500
"""Newcomers that β is estimated with; its low quantile moves by less than 0.01 beyond that."""

LOW_QUANTILE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Separation:
    """How well the data are separated under a tree (assumption 1).

    ``least`` is the largest β for which the assumption holds for every newcomer tried; a single
    outlier decides it, so ``low`` gives the 5 % quantile. ``cases`` is how many triples of a
    newcomer, a subtree and a passed-over child the assumption speaks of.
    """

    least: float
    low: float
    cases: int


def revenue(tree: Tree) -> float:
    """``Σ_{i<j} w_ij · (n − leaves(lca(i, j)))`` with ``w = (1 + cos)/2``, n leaves; exact."""
    total = 0.0
    for node in tree.summaries():
        size, children = tree.leaves_below(node), tree.children(node)
        pairs = size**2 - sum(tree.leaves_below(child) ** 2 for child in children)
        products = _square(tree, node) - sum(_square(tree, child) for child in children)
        total += (pairs + products) / 4 * (tree.leaf_count - size)
    return total


def apart(tree: Tree) -> float:
    """The share of all similarity, ``Σ w_ij``, between leaves that meet only at the root.

    Such pairs earn no revenue, whatever hierarchy is below. NaN for fewer than two leaves.
    """
    if tree.leaf_count < 2:
        return float("nan")
    topics = sum(_pairs(tree, topic) for topic in tree.children(ROOT))
    return 1 - topics / _pairs(tree, ROOT)


def _pairs(tree: Tree, node: int) -> float:
    """The similarity of all pairs of leaves at or below a node."""
    size = tree.leaves_below(node)
    return (size * (size - 1) + _square(tree, node) - size) / 4


def separation(tree: Tree, *, seed: int = 0) -> Separation:
    """An estimate of β: each sampled leaf is taken as the newcomer of assumption 1.

    Let S be a subtree that the newcomer x enters: x is more similar to S than the leaves of S are
    to each other. Let A be a child of S, but not the child most similar to x. Then β is at most
    ``w(A) / w(A, x)``. A child with a single leaf has no inner similarity and is left out.
    """
    leaves = list(tree.leaves())
    chosen = np.random.default_rng(seed).permutation(len(leaves))[:SAMPLED_LEAVES]
    ratios = np.array([r for i in sorted(chosen) for r in _ratios(tree, leaves[i])])
    if not len(ratios):
        return Separation(1.0, 1.0, 0)
    least, low = float(ratios.min()), float(np.quantile(ratios, LOW_QUANTILE))
    return Separation(min(least, 1.0), min(low, 1.0), len(ratios))


def _ratios(tree: Tree, leaf: int) -> Iterator[float]:
    x = _sum(tree, leaf)
    line = {*tree.path(leaf), leaf}
    for subtree in tree.path(leaf):
        size, total = tree.leaves_below(subtree) - 1, _sum(tree, subtree) - x
        if size < 2 or _across(total, size, x) <= _within(total, size):
            continue
        similar = []
        for child in tree.children(subtree):
            own = int(child in line)
            part, count = _sum(tree, child) - own * x, tree.leaves_below(child) - own
            if count:
                similar.append((_across(part, count, x), part, count))
        best = max(range(len(similar)), key=lambda i: similar[i][0])
        for i, (across, part, count) in enumerate(similar):
            if i != best and count > 1:
                yield _within(part, count) / across if across > 0 else 1.0


def _sum(tree: Tree, node: int) -> NDArray[np.float64]:
    return tree.total(node).astype(np.float64) / FIXED_POINT


def _square(tree: Tree, node: int) -> float:
    total = _sum(tree, node)
    return float(total @ total)


def _across(total: NDArray[np.float64], size: int, x: NDArray[np.float64]) -> float:
    """Mean similarity ``(1 + cos)/2`` of x and ``size`` vectors that add up to ``total``."""
    return (1 + float(total @ x) / size) / 2


def _within(total: NDArray[np.float64], size: int) -> float:
    """Mean similarity of the pairs of ``size`` unit vectors that add up to ``total``."""
    return (1 + (float(total @ total) - size) / (size * (size - 1))) / 2
