"""The code structure relation (FragRel eq. 8) as a sparse operator, and its upkeep.

With M the share of each fragment's text that each syntax node holds, eq. 8 is ``W = M·Dis·Mᵀ``.
``Dis`` is the path along the tree, or a better one that uses calls:

- The tree part needs no cut-off. Weights that multiply along the paths of a tree are the covariance
  of a Markov process on it, which factorises: ``Dis_tree = A·S·Aᵀ`` with A the weight of the
  way from a node up to each of its ancestors and S = 1 − (weight of the ancestor's edge up)².
  So ``B = M·A`` has a column an ancestor, and ``W_tree = B·S·Bᵀ``.
- Where a path that uses calls is worth the cut-off or more and better than the tree's, ``C`` holds
  the difference: ``W = W_tree + M·C·Mᵀ``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treering.code.cover import Trunk
from treering.code.graph import (
    CALL_EDGE,
    FOLDER_EDGE,
    SYNTAX_EDGE,
    Candidates,
    CodeGraph,
    Nodes,
    Weights,
    code_graph,
    tree_paths,
)
from treering.code.outline import NONE
from treering.code.paths import CallSearch
from treering.code.resolve import MAX_CANDIDATES
from treering.relate.contract import Floats

CUTOFF = 0.1
"""Paths through calls that are worth less count as the tree's path alone. At 0.1 a statement still
reaches the body of the function it calls; at 0.05 there are three to four times as many pairs."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """One file's part of B: ``value[e]`` of fragment ``fragment[e]`` at trunk node ``node[e]``."""

    fragment: Nodes
    node: Nodes
    value: Weights


def exposure(trunk: Trunk) -> Exposure:
    """M·A of one file: the shares of its nodes, carried up to every ancestor."""
    size = len(trunk.parent)
    key = trunk.fragment.astype(np.int64) * size + trunk.node
    value = trunk.share.astype(np.float64)
    levels = []
    while len(key):
        levels.append((key, value))
        fragment, node = np.divmod(key, size)
        inner = node > 0
        key = fragment[inner] * size + trunk.parent[node[inner]]
        key, place = np.unique(key, return_inverse=True)
        value = np.bincount(place, weights=value[inner] * SYNTAX_EDGE, minlength=len(key))
    keys = np.concatenate([level[0] for level in levels] or [key])
    key, place = np.unique(keys, return_inverse=True)
    value = np.bincount(place, np.concatenate([level[1] for level in levels] or [value]))
    return Exposure(*np.divmod(key, size), value)


@dataclass(frozen=True, slots=True)
class CodeOperator:
    """W of eq. 8 over N fragments, never multiplied out."""

    up: sparse.csr_array
    """B, shape (N, ancestors)."""
    gain: Floats
    """S, shape (ancestors,)."""
    calls: sparse.csr_array
    """M·C·Mᵀ, shape (N, N)."""

    def propagate(self, scores: Floats) -> Floats:
        """``W·scores`` for scores of shape (N,) or (N, Q)."""
        gain = self.gain if scores.ndim == 1 else self.gain[:, None]
        result: Floats = self.up @ (gain * (self.up.T @ scores)) + self.calls @ scores
        return result

    def mass(self) -> Floats:
        """``W·1``, shape (N,)."""
        return self.propagate(np.ones(self.up.shape[0], dtype=np.float32))


class CodeRelation:
    """The relation of a repository's fragments, kept up to date file by file.

    The fragments of all files follow each other in the order of ``paths``.
    """

    def __init__(self, cutoff: float = CUTOFF) -> None:
        self._cutoff = cutoff
        self._trunks: dict[str, Trunk] = {}
        self._exposures: dict[str, Exposure] = {}
        self._graph = code_graph({}, {})
        self._calls = sparse.csr_array((0, 0), dtype=np.float32)
        self._operator: CodeOperator | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in the order of their fragments."""
        return tuple(self._trunks)

    @property
    def graph(self) -> CodeGraph:
        """The code graph of all files."""
        return self._graph

    def update(
        self,
        removed: Iterable[str],
        trunks: Mapping[str, Trunk],
        calls: Mapping[str, Candidates],
    ) -> None:
        """Take out the files ``removed`` and put ``trunks`` last, in their order.

        A file that has changed is both removed and put last. ``calls`` holds the candidates of
        every file there is now.
        """
        before = _Before(self._trunks, self._graph, self._calls)
        gone = set(removed)
        for path in gone:
            del self._trunks[path], self._exposures[path]
        self._trunks.update(trunks)
        self._exposures.update((path, exposure(trunk)) for path, trunk in trunks.items())
        self._graph = code_graph(self._trunks, calls)
        self._calls = self._updated(before, gone, set(trunks))
        self._operator = None

    def operator(self) -> CodeOperator:
        """W over the fragments of all files."""
        if self._operator is None:
            self._operator = self._bind()
        return self._operator

    def _bind(self) -> CodeOperator:
        starts = _starts(self._trunks)
        rows, nodes, values = [], [], []
        for path, one in self._exposures.items():
            rows.append(one.fragment + starts[path])
            nodes.append(one.node + self._graph.offset[path])
            values.append(one.value)
        row, node, value = self._above_roots(*_joined(rows, nodes, values))
        used = np.zeros(len(self._graph), dtype=np.bool_)
        used[node] = True
        column = np.cumsum(used) - 1
        shape = (sum(trunk.fragments for trunk in self._trunks.values()), int(used.sum()))
        up = sparse.csr_array((value.astype(np.float32), (row, column[node])), shape=shape)
        gain = (1 - self._graph.edge**2)[used].astype(np.float32)
        return CodeOperator(up, gain, self._calls)

    def _above_roots(self, row: Nodes, node: Nodes, value: Weights) -> tuple[Nodes, Nodes, Weights]:
        """The entries of B below the files, and those of files and folders that follow from them.

        A root and its file are one edge of weight 1 apart, so the root adds nothing of its own.
        """
        edge, parent = self._graph.edge, self._graph.parent
        root = edge[node] == 1
        levels = [(row[~root], node[~root], value[~root])]
        row, node, value = row[root], parent[node[root]], value[root]
        while len(node):
            levels.append((row, node, value))
            inner = node > 0
            row, value = row[inner], value[inner] * FOLDER_EDGE
            node = parent[node[inner]]
        return _joined(*zip(*levels, strict=True))

    def _updated(self, before: _Before, gone: set[str], come: set[str]) -> sparse.csr_array:
        """M·C·Mᵀ now: rows that no changed edge can have touched are carried over."""
        search = CallSearch(self._graph, self._cutoff)
        stale = search.leading_to(before.changed(self._graph, self._trunks, gone, come))
        share = self._shares()
        ends = np.zeros(len(self._graph), dtype=np.bool_)
        ends[share.indices] = True
        rows = np.asarray(share @ stale.astype(np.float32)) > 0
        sources = np.asarray(share.T @ rows.astype(np.float32)) > 0
        found = search.paths(sources, ends)
        better = found.weight - tree_paths(self._graph, found.source, found.target)
        kept = better > 0
        gain = sparse.csr_array(
            (better[kept].astype(np.float32), (found.source[kept], found.target[kept])),
            shape=(len(self._graph), len(self._graph)),
        )
        fresh = sparse.diags_array(rows.astype(np.float32)) @ (share @ gain @ share.T)
        kept_rows = sparse.diags_array((~rows).astype(np.float32))
        result = sparse.csr_array(kept_rows @ before.carried(self._trunks, gone, come) + fresh)
        result.eliminate_zeros()
        return result

    def _shares(self) -> sparse.csr_array:
        """M over the nodes of the whole graph."""
        starts = _starts(self._trunks)
        rows, nodes, values = [], [], []
        for path, trunk in self._trunks.items():
            rows.append(trunk.fragment + starts[path])
            nodes.append(trunk.node + self._graph.offset[path])
            values.append(trunk.share)
        row, node, value = _joined(rows, nodes, values)
        count = sum(trunk.fragments for trunk in self._trunks.values())
        return sparse.csr_array((value, (row, node)), shape=(count, len(self._graph)))


class _Before:
    """The state of a relation before an update, to tell what the update leaves as it is."""

    def __init__(
        self, trunks: Mapping[str, Trunk], graph: CodeGraph, calls: sparse.csr_array
    ) -> None:
        self._trunks = dict(trunks)
        self._graph = graph
        self._calls = calls

    def carried(
        self, trunks: Mapping[str, Trunk], gone: set[str], come: set[str]
    ) -> sparse.csr_array:
        """The old M·C·Mᵀ without files that went, with empty rows for those that came."""
        stays = [path not in gone for path in self._trunks]
        kept = np.repeat(stays, [trunk.fragments for trunk in self._trunks.values()])
        old = self._calls[np.flatnonzero(kept)][:, np.flatnonzero(kept)] if len(kept) else None
        new = sum(trunks[path].fragments for path in come)
        empty = sparse.csr_array((new, new), dtype=np.float32)
        return empty if old is None else sparse.csr_array(sparse.block_diag([old, empty]))

    def changed(
        self, graph: CodeGraph, trunks: Mapping[str, Trunk], gone: set[str], come: set[str]
    ) -> Nodes:
        """The nodes of the new graph that came, or whose call edges are not what they were."""
        place = np.full(len(self._graph), NONE)
        for path in self._trunks.keys() - gone:
            nodes = np.arange(len(self._trunks[path].parent))
            place[self._graph.offset[path] + nodes] = graph.offset[path] + nodes
        start, end, weight = self._graph.start, self._graph.end, self._graph.weight
        old = _edge_keys(place[start], place[end], weight, len(graph))
        new = _edge_keys(graph.start, graph.end, graph.weight, len(graph))
        left = place[start][~np.isin(old, new)]
        joined = graph.start[~np.isin(new, old)]
        own = [graph.offset[path] + np.arange(len(trunks[path].parent)) for path in come]
        return np.concatenate([left[left != NONE], joined, *own])


def _edge_keys(start: Nodes, end: Nodes, weight: Weights, size: int) -> Nodes:
    """A number for each edge that is not negative, equal for equal edges."""
    sharing = np.rint(CALL_EDGE / weight).astype(np.int64)
    key = (start * size + end) * (MAX_CANDIDATES + 1) + sharing
    return np.where((start == NONE) | (end == NONE), NONE, key)


def _starts(trunks: Mapping[str, Trunk]) -> dict[str, int]:
    """The first fragment of each file."""
    at = 0
    starts = {}
    for path, trunk in trunks.items():
        starts[path] = at
        at += trunk.fragments
    return starts


def _joined(
    rows: Sequence[Nodes], nodes: Sequence[Nodes], values: Sequence[Weights]
) -> tuple[Nodes, Nodes, Weights]:
    """Columns of parts as columns of the whole."""
    return (
        np.concatenate([np.zeros(0, dtype=np.int64), *rows]),
        np.concatenate([np.zeros(0, dtype=np.int64), *nodes]),
        np.concatenate([np.zeros(0), *values]),
    )
