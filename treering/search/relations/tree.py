"""The tree relation: w[i,j] = w^(steps from node i to node j), exact, one pass up and one down.

With ``up[v] = own[v] + w·Σ up[children]`` gathered from the deepest level upwards, what reaches v
from everywhere is ``all[v] = up[v] + w·(all[parent] − w·up[v])``, spread from the top downwards:
what the parent hears without v itself. Both passes are O(nodes · queries); no N×N matrix is built.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.errors import InputError
from treering.search.relations.contract import MISSING, Items

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TreeRelation:
    """Relatives in a tree: the items' parents, siblings, cousins, the nearer the stronger.

    ``parents`` gives the parent of every node, ``MISSING`` for a root: nodes of
    different trees of such a forest are not related. ``nodes`` gives the node of every item,
    ``MISSING`` for none; items of one node are at distance 0. ``w`` is the weight of one step,
    0 < w < 1. Two relations are equal only if they are the same object: columns are not compared.
    """

    parents: Codes = field(repr=False)
    nodes: Codes = field(repr=False)
    w: float = 0.5
    name: str = "tree"

    def __post_init__(self) -> None:
        if not 0.0 < self.w < 1.0:
            raise InputError(f"the tree relation's w is {self.w}; it must lie between 0 and 1")

    def bind(self, items: Items) -> TreeOperator:
        """The operator over ``items``: those ``nodes`` speaks of, in its order."""
        if len(items) != len(self.nodes):
            raise InputError(
                f"the tree relation knows the nodes of {len(self.nodes)} items, not of the "
                f"{len(items)} it is bound to; build it from the same snapshot"
            )
        return TreeOperator(self.parents, self.nodes, self.w)


class TreeOperator:
    """W of the tree relation over N items."""

    def __init__(self, parents: Codes, nodes: Codes, w: float) -> None:
        order, starts = _levels(parents)
        place = np.full(
            len(parents) + 1, MISSING, dtype=np.int64
        )  # the last one stands for MISSING
        place[order] = np.arange(len(order))
        self._w = w
        self._parent = place[parents[order]]
        self._levels = list(itertools.pairwise(starts.tolist()))
        self._place = place[nodes]

    def propagate(self, scores: Floats) -> Floats:
        """``W·scores`` for scores of shape (N,) or, one column a query, (N, Q)."""
        columns = scores[:, np.newaxis] if scores.ndim == 1 else scores
        # A node hears its items' scores first; items without a node take no part.
        there = self._place != MISSING
        heard = np.zeros((len(self._parent), columns.shape[1]))
        np.add.at(heard, self._place[there], columns[there])
        self._gather(heard)
        self._spread(heard)
        result = np.zeros(columns.shape, dtype=np.float32)
        result[there] = heard[self._place[there]]
        return result.reshape(scores.shape)

    def mass(self) -> Floats:
        """``W·1``, shape (N,)."""
        return self.propagate(np.ones(len(self._place), dtype=np.float32))

    def _gather(self, heard: Doubles) -> None:
        """From the deepest level up; the children of one parent are side by side."""
        for start, stop in reversed(self._levels[1:]):
            parents = self._parent[start:stop]
            firsts = np.flatnonzero(np.r_[True, parents[1:] != parents[:-1]])
            heard[parents[firsts]] += self._w * np.add.reduceat(heard[start:stop], firsts, axis=0)

    def _spread(self, heard: Doubles) -> None:
        """From the top down. ``all[v] = up[v] + w·(all[parent] − w·up[v])``, with terms sorted."""
        for start, stop in self._levels[1:]:
            up = heard[start:stop]
            heard[start:stop] = (1 - self._w**2) * up + self._w * heard[self._parent[start:stop]]


def _levels(parents: Codes) -> tuple[Codes, Codes]:
    """Nodes sorted by depth, then parent, and where each depth starts (with the end appended)."""
    depth = np.zeros(len(parents), dtype=np.int64)
    # All nodes climb one step at a time; a node's depth is how many steps it can climb.
    above = parents.copy()
    while (climbing := above != MISSING).any():
        depth[climbing] += 1
        above[climbing] = parents[above[climbing]]
    order = np.lexsort((parents, depth))
    deepest = int(depth.max()) if len(depth) else 0
    return order, np.searchsorted(depth[order], np.arange(deepest + 2))
