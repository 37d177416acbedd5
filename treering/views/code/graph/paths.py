"""Best paths that use a call, from many nodes in one search in the max-product semiring.

The search starts in the middle of the paths, at their calls. It makes them longer at the end, then
at the beginning, and drops a path where the tree alone joins its two nodes as well: then the tree
joins whatever a longer path would join. So a large module is not crossed from each of its functions
to each other one unless that is worth it.

A set of paths is a pair of columns: a key, ``first node · nodes + last node``, and its best weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from treering.views.choices import EdgeWeights
from treering.views.code.graph.code_graph import (
    EDGES,
    CodeGraph,
    Nodes,
    Weights,
    tree_paths,
)


def least_cutoff(edges: EdgeWeights) -> float:
    """The most that a path from file to file through their folder weighs, and less once it holds a
    call: with a cut-off from here on, best paths that use a call never pass through folders."""
    return edges.folder**2 * edges.syntax


LEAST_CUTOFF = least_cutoff(EDGES)

MOST_PATHS = 1 << 19
"""Paths searched at a time, some 100 MB with the copies that a step makes. A file in which more
begin is generated, and its calls relate nothing. In each of numpy, scipy, networkx and pip fewer
than 120,000 begin."""

_ROUNDING = 1e-9
"""Products of the same weights in another order may differ by this much."""

Mask: TypeAlias = NDArray[np.bool_]
_Keyed: TypeAlias = tuple[Nodes, Weights]


@dataclass(frozen=True, slots=True)
class _Edges:
    """Edges sorted by where they start: those of node n are at ``first[n]:first[n + 1]``."""

    first: Nodes
    to: Nodes
    weight: Weights

    @classmethod
    def sort(cls, start: Nodes, to: Nodes, weight: Weights, size: int) -> _Edges:
        order = np.argsort(start, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(start, minlength=size))])
        return cls(first, to[order], weight[order])

    def follow(self, node: Nodes) -> tuple[Nodes, Nodes, Weights]:
        """Every edge from each of ``node``: the place in ``node``, where it leads, its weight."""
        degree = self.first[node + 1] - self.first[node]
        position = np.repeat(np.arange(len(node)), degree)
        place = np.arange(len(position)) + (self.first[node] - np.cumsum(degree) + degree)[position]
        return position, self.to[place], self.weight[place]

    def follow_in_parts(self, node: Nodes) -> Iterator[tuple[Nodes, Nodes, Weights]]:
        """As ``follow``, some ``MOST_PATHS`` edges at a time."""
        edges = np.cumsum(self.first[node + 1] - self.first[node])
        cuts = np.flatnonzero(np.diff(edges // MOST_PATHS)) + 1
        for begin, end in pairwise([0, *cuts.tolist(), len(node)]):
            position, to, weight = self.follow(node[begin:end])
            yield position + begin, to, weight


class CallSearch:
    """Finds the paths between ``ends``, nodes of a code graph, that use a call and are worth
    ``cutoff`` or more, but no less than ``least_cutoff``."""

    def __init__(self, graph: CodeGraph, ends: Mask, cutoff: float) -> None:
        self._graph = graph
        self._size = len(graph)
        self._least = max(cutoff, least_cutoff(graph.edges)) * (1 - _ROUNDING)
        child = np.flatnonzero(graph.is_syntax)
        parent = graph.parent[child]
        half = np.full(2 * len(child), graph.edges.syntax)
        self._tree = _Edges.sort(
            np.concatenate([child, parent]), np.concatenate([parent, child]), half, self._size
        )
        self._calls = _Edges.sort(graph.start, graph.end, graph.weight, self._size)
        callers = _Edges.sort(graph.end, graph.start, graph.weight, self._size)
        self._ends = ends
        # The most that the way from an end to each node can weigh, and that from there to an end.
        self._before = self._spread(self._tree)
        self._after = self._spread(self._tree, callers)

    def paths(self) -> tuple[Nodes, Nodes, Weights]:
        """The best paths, where they are better than the tree's: their ends, and their weight.

        None begins in a file in which more than ``MOST_PATHS`` would.
        """
        calls = self._entered_calls()
        starts, files = np.flatnonzero(np.diff(calls.first)), len(self._graph.offset)
        first = np.searchsorted(starts, [*self._graph.offset.values(), self._size])
        found = [_NO_PATHS]
        parts = [(0, files)] if files else []
        while parts:
            begin, end = parts.pop()
            try:
                found.append(self._from(starts[first[begin] : first[end]], calls))
            except _Full:
                middle = (begin + end) // 2
                parts += [(begin, middle), (middle, end)] if middle > begin else []
        key, weight = _strongest(found)
        return (*np.divmod(key, self._size), weight)

    def _spread(self, *ways: _Edges) -> Weights:
        """The best weight of a path from one of the ends to each node, 0 below the cut-off."""
        best = self._ends.astype(np.float64)
        near = np.flatnonzero(self._ends)
        while len(near):
            reached = []
            for edges in ways:
                position, to, weight = edges.follow(near)
                weight = weight * best[near[position]]
                better = (weight > best[to]) & (weight >= self._least)
                np.maximum.at(best, to[better], weight[better])
                reached.append(to[better])
            near = np.unique(np.concatenate(reached))
        return best

    def _entered_calls(self) -> _Edges:
        """The call edges, each from the first node upwards that is or holds an end.

        All paths to the call pass there.
        """
        graph = self._graph
        holds = self._ends.copy()
        near = np.flatnonzero(holds)
        while len(near):
            above = np.unique(graph.parent[near[graph.is_syntax[near]]])
            near = above[~holds[above]]
            holds[near] = True
        start, weight = graph.start.copy(), graph.weight.copy()
        while len(low := np.flatnonzero(~holds[start] & (weight >= self._least))):
            weight[low] *= np.where(graph.is_syntax[start[low]], graph.edges.syntax, 0.0)
            start[low] = graph.parent[start[low]]
        used = weight >= self._least
        return _Edges.sort(start[used], graph.end[used], weight[used], self._size)

    def _from(self, starts: Nodes, calls: _Edges) -> _Keyed:
        """The best paths through ``calls`` from ``starts``. Raises _Full."""
        position, to, weight = calls.follow(starts)
        paths = _Best(self._useful(starts[position], to, weight))
        while len(paths.new_key):
            start, end = np.divmod(paths.new_key, self._size)
            paths.merge(
                self._useful(start[position], to, weight * paths.new_weight[position])
                for edges in (self._tree, self._calls)
                for position, to, weight in edges.follow_in_parts(end)
            )
        paths = _Best(paths.among(self._ends[paths.key % self._size]))
        while len(paths.new_key):
            start, end = np.divmod(paths.new_key, self._size)
            paths.merge(
                self._useful(to, end[position], weight * paths.new_weight[position])
                for position, to, weight in self._tree.follow_in_parts(start)
            )
        return paths.among(self._ends[paths.key // self._size])

    def _useful(self, start: Nodes, end: Nodes, weight: Weights) -> _Keyed:
        """The paths that can become worth the cut-off and are better than the tree's."""
        able = weight * self._before[start] * self._after[end] >= self._least
        start, end, weight = start[able], end[able], weight[able]
        along_tree = tree_paths(self._graph, start, end, self._least)
        better = weight > along_tree * (1 + _ROUNDING)
        return start[better] * self._size + end[better], weight[better]


class _Full(Exception):
    """There are more than ``MOST_PATHS``."""


class _Best:
    """The best path known for each key, sorted by key, and which of them are new. Raises _Full."""

    def __init__(self, paths: _Keyed) -> None:
        self.key, self.weight = self._strongest([paths])
        self.new_key, self.new_weight = self.key, self.weight

    def merge(self, paths: Iterable[_Keyed]) -> None:
        """Take in paths; those that beat the known ones become the new ones."""
        key, weight = self._strongest(paths)
        at = np.searchsorted(self.key, key)
        place = np.minimum(at, len(self.key) - 1)
        is_known = self.key[place] == key
        better = weight > np.where(is_known, self.weight[place], 0.0) * (1 + _ROUNDING)
        self.new_key, self.new_weight = key[better], weight[better]
        is_known, new = is_known & better, better & ~is_known
        self.weight[place[is_known]] = weight[is_known]
        self.key = np.insert(self.key, at[new], key[new])
        self.weight = np.insert(self.weight, at[new], weight[new])
        if len(self.key) > MOST_PATHS:
            raise _Full

    def _strongest(self, paths: Iterable[_Keyed]) -> _Keyed:
        best = _NO_PATHS
        for part in paths:
            best = _strongest([best, part])
            if len(best[0]) > MOST_PATHS:
                raise _Full
        return best

    def among(self, mask: Mask) -> _Keyed:
        """The paths of a mask."""
        return self.key[mask], self.weight[mask]


_NO_PATHS: _Keyed = (np.zeros(0, np.int64), np.zeros(0))


def _strongest(paths: Iterable[_Keyed]) -> _Keyed:
    """Each key once, in order, with its largest weight."""
    key, weight = (np.concatenate(column) for column in zip(*paths, strict=True))
    order = np.argsort(key, kind="stable")
    key, weight = key[order], weight[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return key[first], np.maximum.reduceat(weight, first) if len(first) else weight
