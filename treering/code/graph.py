"""The code graph of a repository (FragRel appendix A), and its best paths.

Nodes are folders, files and the syntax nodes of the files' trunks. Edges: syntax tree 0.5, folder
tree 0.3, file to syntax root 1.0, call to definition 0.8, shared by the candidates if there are
several. ``Dis`` of two nodes is the weight of the best path, the product of its edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treering.code.cover import Trunk
from treering.code.outline import NONE
from treering.code.resolve import Target

SYNTAX_EDGE = 0.5
FOLDER_EDGE = 0.3
ROOT_EDGE = 1.0
CALL_EDGE = 0.8

HUB_CALLS = 32
"""A definition called from more places leads from its callers to itself, but not from itself to
them: what everything calls says nothing about any caller, and its pairs of callers would grow with
the square of their number."""

Nodes = NDArray[np.int64]
Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CodeGraph:
    """The graph as columns over its nodes; a parent comes before its children, node 0 is the top.

    ``caller``, ``callee`` and ``weight`` are the call edges, which run both ways but for hubs.
    """

    parent: Nodes
    edge: Weights
    """The weight of the edge to the parent; 1 for node 0, which has none."""
    offset: dict[str, int]
    """The node of each file's syntax root."""
    caller: Nodes
    callee: Nodes
    weight: Weights

    def __len__(self) -> int:
        return len(self.parent)

    def directed_calls(self) -> tuple[Nodes, Nodes, Weights]:
        """From, to and weight of the call edges in every direction they can be followed."""
        calls = np.bincount(self.callee, minlength=len(self))
        back = calls[self.callee] <= HUB_CALLS
        return (
            np.concatenate([self.caller, self.callee[back]]),
            np.concatenate([self.callee, self.caller[back]]),
            np.concatenate([self.weight, self.weight[back]]),
        )


def code_graph(
    trunks: Mapping[str, Trunk], calls: Mapping[str, Sequence[tuple[Target, ...]]]
) -> CodeGraph:
    """The graph of the files ``trunks``, with the candidates of each file's calls in order."""
    parents, edges = [np.array([NONE])], [np.ones(1)]
    folders = {PurePosixPath("."): 0}
    size = 1
    offset: dict[str, int] = {}

    def folder(path: PurePosixPath) -> int:
        nonlocal size
        if path not in folders:
            above = folder(path.parent)
            folders[path] = size
            size += 1
            parents.append(np.array([above]))
            edges.append(np.array([FOLDER_EDGE]))
        return folders[path]

    for path, trunk in trunks.items():
        above = folder(PurePosixPath(path).parent)
        syntax = trunk.parent[1:].astype(np.int64) + size + 1
        parents.append(np.concatenate([np.array([above, size]), syntax]))
        edges.append(np.concatenate([[FOLDER_EDGE, ROOT_EDGE], np.full(len(syntax), SYNTAX_EDGE)]))
        offset[path] = size + 1
        size += 1 + len(trunk.parent)
    caller, callee, weight = _call_edges(trunks, calls, offset)
    return CodeGraph(np.concatenate(parents), np.concatenate(edges), offset, caller, callee, weight)


def _call_edges(
    trunks: Mapping[str, Trunk],
    calls: Mapping[str, Sequence[tuple[Target, ...]]],
    offset: Mapping[str, int],
) -> tuple[Nodes, Nodes, Weights]:
    caller: list[int] = []
    callee: list[int] = []
    weight: list[float] = []
    definitions = {
        path: (trunk.definitions + offset[path]).tolist() for path, trunk in trunks.items()
    }
    for path, candidates in calls.items():
        nodes = (trunks[path].calls + offset[path]).tolist()
        for node, targets in zip(nodes, candidates, strict=True):
            for target in targets:
                caller.append(node)
                callee.append(definitions[target.path][target.place])
                weight.append(CALL_EDGE / len(targets))
    return (
        np.array(caller, dtype=np.int64),
        np.array(callee, dtype=np.int64),
        np.array(weight, dtype=np.float64),
    )


def tree_paths(graph: CodeGraph, left: Nodes, right: Nodes) -> Weights:
    """The weight of the path from each of ``left`` to that of ``right`` along the tree alone."""
    weight = np.ones(len(left))
    left, right = left.copy(), right.copy()
    active = np.flatnonzero(left != right)
    # parents have smaller numbers, so the larger of two different nodes is never above the other
    while len(active):
        deeper = left[active] > right[active]
        side = np.where(deeper, left[active], right[active])
        weight[active] *= graph.edge[side]
        left[active[deeper]] = graph.parent[side[deeper]]
        right[active[~deeper]] = graph.parent[side[~deeper]]
        active = active[left[active] != right[active]]
    return weight


@dataclass(frozen=True, slots=True)
class Paths:
    """Pairs of nodes and the weight of the best path between them."""

    source: Nodes
    target: Nodes
    weight: Weights


def call_paths(graph: CodeGraph, ends: NDArray[np.bool_], cutoff: float) -> Paths:
    """The best paths of weight ``cutoff`` or more between nodes of ``ends`` that use a call.

    The graph is laid out twice: a path starts in the lower copy, and a call edge, wherever it is
    taken, leads to the upper one. Tree edges stay within a file (see ``call_cutoff``).
    """
    layers = _layered(graph)
    promise = _promise(graph, layers)
    starts = np.flatnonzero(ends & (promise[: len(graph)] >= cutoff))
    chunks = [
        _search(layers, promise, starts[at : at + _CHUNK], ends, cutoff)
        for at in range(0, len(starts), _CHUNK)
    ]
    if not chunks:
        return Paths(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return Paths(*(np.concatenate(column) for column in zip(*chunks, strict=True)))


_CHUNK = 16_384
"""Sources searched at a time: some ten million pairs at most are then held in memory."""
_ROUNDING = 1e-9
"""Products of the same weights in another order may differ by this much."""


def _layered(graph: CodeGraph) -> sparse.csr_array:
    """Both copies of the graph without folders, as one adjacency matrix."""
    n = len(graph)
    child = np.flatnonzero(graph.edge == SYNTAX_EDGE)
    parent = graph.parent[child]
    start, end, weight = graph.directed_calls()
    rows = [child, parent, child + n, parent + n, start, start + n]
    columns = [parent, child, parent + n, child + n, end + n, end + n]
    values = [np.full(4 * len(child), SYNTAX_EDGE), weight, weight]
    return _strongest_matrix(
        np.concatenate(rows), np.concatenate(columns), np.concatenate(values), 2 * n
    )


def _strongest_matrix(rows: Nodes, columns: Nodes, values: Weights, n: int) -> sparse.csr_array:
    """A matrix that keeps the largest of entries at the same place."""
    key, values = _strongest(rows * n + columns, values)
    return sparse.csr_array((values, (key // n, key % n)), shape=(n, n))


def _strongest(key: Nodes, values: Weights) -> tuple[Nodes, Weights]:
    """Each key once, in order, with its largest value."""
    order = np.argsort(key, kind="stable")
    key, values = key[order], values[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return key[first], np.maximum.reduceat(values, first) if len(first) else values


def _promise(graph: CodeGraph, layers: sparse.csr_array) -> Weights:
    """An upper bound on what a path from a node can be worth once it has used a call."""
    n = len(graph)
    promise = np.zeros(2 * n)
    promise[n:] = 1.0
    edges = layers.tocoo()
    lower = edges.row < n
    row, column, value = edges.row[lower], edges.col[lower], edges.data[lower]
    while True:
        better = promise.copy()
        np.maximum.at(better, row, value * promise[column])
        if np.array_equal(better, promise):
            return promise
        promise = better


def _search(
    layers: sparse.csr_array,
    promise: Weights,
    starts: Nodes,
    ends: NDArray[np.bool_],
    cutoff: float,
) -> tuple[Nodes, Nodes, Weights]:
    """Best-path search from all of ``starts`` at once: extend what improved, keep the strongest."""
    width = layers.shape[0]
    least = cutoff * (1 - _ROUNDING)
    key = np.arange(len(starts)) * width + starts
    best = np.ones(len(starts))
    new_key, new = key, best
    while len(new_key):
        new_key, new = _extend(layers, promise, new_key, new, least)
        new_key, new = _improved(key, best, new_key, new)
        key, best = _strongest(np.concatenate([key, new_key]), np.concatenate([best, new]))
    source, node = starts[key // width], key % width - width // 2
    kept = (node >= 0) & ends[node]
    return source[kept], node[kept], best[kept]


def _extend(
    layers: sparse.csr_array, promise: Weights, key: Nodes, weight: Weights, least: float
) -> tuple[Nodes, Weights]:
    """Every path one edge longer that can still be worth ``least``."""
    width = layers.shape[0]
    row, node = key // width, key % width
    degree = layers.indptr[node + 1] - layers.indptr[node]
    place = np.repeat(layers.indptr[node] - np.cumsum(degree) + degree, degree)
    place += np.arange(len(place))
    to = layers.indices[place].astype(np.int64)
    longer = np.repeat(weight, degree) * layers.data[place]
    kept = longer * promise[to] >= least
    return _strongest(np.repeat(row, degree)[kept] * width + to[kept], longer[kept])


def _improved(key: Nodes, best: Weights, new_key: Nodes, new: Weights) -> tuple[Nodes, Weights]:
    """The new entries that beat what is known."""
    at = np.minimum(np.searchsorted(key, new_key), len(key) - 1)
    known = np.where(key[at] == new_key, best[at], 0.0)
    better = new > known * (1 + _ROUNDING)
    return new_key[better], new[better]
