"""OTD, the online hierarchical clustering MemTree is compared with (Menon et al. 2019, B.2).

A binary tree. A new vector x starts at the root. While x is more similar to the cluster S it has
reached than the members of S are to each other, x goes down into the more similar half of S. Then
it becomes the sibling of S.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


@dataclass(slots=True, eq=False)
class _Cluster:
    """A subtree: its number of leaves, the sum of their vectors, and its two halves, if any."""

    size: int
    total: Doubles
    halves: list[_Cluster] = field(default_factory=list)

    def within(self) -> float:
        """Mean similarity inside; a single leaf is as similar to itself as can be."""
        if self.size == 1:
            return 1.0
        squares = float(self.total @ self.total) - self.size
        return (1 + squares / (self.size * (self.size - 1))) / 2

    def across(self, x: Doubles) -> float:
        """Mean similarity to x."""
        return (1 + float(self.total @ x) / self.size) / 2


def otd_revenue(vectors: Iterable[NDArray[np.float32]]) -> float:
    """The Moseley-Wang revenue, ``w = (1 + cos)/2``, of the tree OTD builds from unit vectors."""
    root: _Cluster | None = None
    for vector in vectors:
        leaf = _Cluster(1, vector.astype(np.float64))
        root = leaf if root is None else _insert(root, leaf)
    return _revenue(root) if root else 0.0


def _insert(root: _Cluster, leaf: _Cluster) -> _Cluster:
    """The tree with the leaf in it; clusters on the way grow in place."""
    x = leaf.total
    above: list[_Cluster] = []
    here = root
    while here.halves and here.across(x) > here.within():
        above.append(here)
        here = max(here.halves, key=lambda half: half.across(x))
    joined = _Cluster(here.size + 1, here.total + x, [here, leaf])
    if not above:
        return joined
    above[-1].halves[above[-1].halves.index(here)] = joined
    for cluster in above:
        cluster.size += 1
        cluster.total = cluster.total + x
    return root


def _revenue(root: _Cluster) -> float:
    stack, total = [root], 0.0
    while stack:
        cluster = stack.pop()
        if cluster.halves:
            left, right = cluster.halves
            weight = (left.size * right.size + float(left.total @ right.total)) / 2
            total += weight * (root.size - cluster.size)
            stack += [left, right]
    return total
