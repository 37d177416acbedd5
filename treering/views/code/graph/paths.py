"""Best paths that use a call, from many nodes at once: search in the max-product semiring.

A set of paths is a pair of columns: a key, ``row · width + state``, and the best weight known for
it. A state is a node, or, once the path has used a call, that node plus the number of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treering.errors import InputError
from treering.views.code.graph.code_graph import FOLDER_EDGE, SYNTAX_EDGE, CodeGraph, Nodes, Weights

LEAST_CUTOFF = FOLDER_EDGE**2 * SYNTAX_EDGE
"""A path from file to file through their folder is worth no more, and less once it holds a call:
with a cut-off from here on, best paths that use a call never pass through folders."""

_CHUNK = 16_384
"""Sources searched at a time, so that some ten million paths at most are in memory."""
_ROUNDING = 1e-9
"""Products of the same weights in another order may differ by this much."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Pairs of nodes and the weight of the best path from the first to the second."""

    source: Nodes
    target: Nodes
    weight: Weights


@dataclass(frozen=True, slots=True)
class _Edges:
    """Edges sorted by where they start: those of node n are at ``first[n]:first[n + 1]``."""

    first: Nodes
    to: Nodes
    weight: Weights

    @classmethod
    def of(cls, start: Nodes, to: Nodes, weight: Weights, size: int) -> _Edges:
        order = np.argsort(start, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(start, minlength=size))])
        return cls(first, to[order], weight[order])

    def follow(self, node: Nodes) -> tuple[Nodes, Nodes, Weights]:
        """Every edge from each of ``node``: the place in ``node``, where it leads, its weight."""
        degree = self.first[node + 1] - self.first[node]
        position = np.repeat(np.arange(len(node)), degree)
        place = np.arange(len(position)) + (self.first[node] - np.cumsum(degree) + degree)[position]
        return position, self.to[place], self.weight[place]


class CallSearch:
    """Finds the paths of a code graph that use a call and are worth ``cutoff`` or more.

    Raises InputError for a cut-off below ``LEAST_CUTOFF``.
    """

    def __init__(self, graph: CodeGraph, cutoff: float) -> None:
        if not LEAST_CUTOFF <= cutoff <= 1:
            raise InputError(f"cut-off is {cutoff}; it must be between {LEAST_CUTOFF} and 1")
        self._size = len(graph)
        self._least = cutoff * (1 - _ROUNDING)
        child = np.flatnonzero(graph.edge == SYNTAX_EDGE)
        parent = graph.parent[child]
        half = np.full(2 * len(child), SYNTAX_EDGE)
        self._tree = _Edges.of(
            np.concatenate([child, parent]), np.concatenate([parent, child]), half, self._size
        )
        self._calls = _Edges.of(graph.start, graph.end, graph.weight, self._size)
        self._callers = _Edges.of(graph.end, graph.start, graph.weight, self._size)

    def paths(self, sources: NDArray[np.bool_], targets: NDArray[np.bool_]) -> Paths:
        """The best paths from nodes of ``sources`` to nodes of ``targets``, both masks."""
        promise = self._promise()
        starts = np.flatnonzero(sources & (promise >= self._least))
        promise = np.concatenate([promise, np.ones(self._size)])
        best = [
            self._from(starts[at : at + _CHUNK], promise, targets)
            for at in range(0, len(starts), _CHUNK)
        ]
        none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        return Paths(*(np.concatenate(column) for column in zip(none, *best, strict=True)))

    def leading_to(self, nodes: Nodes) -> NDArray[np.bool_]:
        """The mask of nodes with a path, of any kind, to one of ``nodes``."""
        mask = np.zeros(self._size, dtype=np.bool_)
        mask[nodes] = True
        paths = _Best(np.flatnonzero(mask))
        while not mask.all() and len(paths.new_key):
            paths.merge(
                [
                    self._step(paths, edges, 0, np.ones(self._size))
                    for edges in (self._tree, self._callers)
                ]
            )
        mask[paths.key] = True
        return mask

    def _promise(self) -> Weights:
        """The most that a path from each node can be worth once it has used its first call."""
        promise = np.zeros(self._size)
        start = np.repeat(np.arange(self._size), np.diff(self._calls.first))
        np.maximum.at(promise, start, self._calls.weight)
        near = np.flatnonzero(promise)
        while len(near):
            position, to, weight = self._tree.follow(near)
            weight = weight * promise[near[position]]
            better = (weight > promise[to]) & (weight >= self._least)
            np.maximum.at(promise, to[better], weight[better])
            near = np.unique(to[better])
        return promise

    def _from(
        self, starts: Nodes, promise: Weights, targets: NDArray[np.bool_]
    ) -> tuple[Nodes, Nodes, Weights]:
        width = 2 * self._size
        paths = _Best(np.arange(len(starts)) * width + starts)
        while len(paths.new_key):
            paths.merge(
                [
                    self._step(paths, self._tree, 0, promise),
                    self._step(paths, self._calls, self._size, promise),
                ]
            )
        source, node = starts[paths.key // width], paths.key % width - self._size
        useful = (node >= 0) & targets[node]
        return source[useful], node[useful], paths.weight[useful]

    def _step(
        self, paths: _Best, edges: _Edges, lift: int, promise: Weights
    ) -> tuple[Nodes, Weights]:
        """The newest paths, each longer by one edge, where they can still be worth the cut-off.

        ``lift`` is added to the state of paths that have not used a call yet.
        """
        width = len(promise)
        row, state = np.divmod(paths.new_key, width)
        # The upper half of the states are the nodes once more, for paths that have used a call.
        upper = state >= self._size
        position, to, weight = edges.follow(np.where(upper, state - self._size, state))
        # A path stays in the upper half; a call takes one of the lower half there (``lift``).
        state = to + np.where(upper, self._size, lift)[position]
        weight = weight * paths.new_weight[position]
        # The promise of a state bounds what the rest of the path can weigh: the others are dropped.
        promising = weight * promise[state] >= self._least
        return row[position][promising] * width + state[promising], weight[promising]


class _Best:
    """The best path known for each key, sorted by key, and which of them are new."""

    def __init__(self, key: Nodes) -> None:
        self.key = self.new_key = key
        self.weight, self.new_weight = np.ones(len(key)), np.ones(len(key))

    def merge(self, paths: list[tuple[Nodes, Weights]]) -> None:
        """Take in paths; those that are better than what is known become the new ones."""
        key, weight = _strongest(*(np.concatenate(column) for column in zip(*paths, strict=True)))
        at = np.searchsorted(self.key, key)
        place = np.minimum(at, len(self.key) - 1)
        is_known = self.key[place] == key
        better = weight > np.where(is_known, self.weight[place], 0.0) * (1 + _ROUNDING)
        self.new_key, self.new_weight = key[better], weight[better]
        is_known, new = is_known & better, better & ~is_known
        self.weight[place[is_known]] = weight[is_known]
        self.key = np.insert(self.key, at[new], key[new])
        self.weight = np.insert(self.weight, at[new], weight[new])


def _strongest(key: Nodes, weight: Weights) -> tuple[Nodes, Weights]:
    """Each key once, in order, with its largest weight."""
    order = np.argsort(key, kind="stable")
    key, weight = key[order], weight[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return key[first], np.maximum.reduceat(weight, first) if len(first) else weight
