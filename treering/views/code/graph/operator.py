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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from treering import forks
from treering.arrays import Floats
from treering.errors import MissingExtra
from treering.views.code.graph.code_graph import (
    CALL_EDGE,
    FOLDER_EDGE,
    ROOT_EDGE,
    SYNTAX_EDGE,
    Candidates,
    CodeGraph,
    Nodes,
    Weights,
    code_graph,
    tree_paths,
)
from treering.views.code.graph.paths import MOST_PATHS, CallSearch, Mask
from treering.views.code.graph.resolve import MAX_CANDIDATES
from treering.views.code.graph.trunk import Trunk
from treering.views.code.parse.outline import NONE

if TYPE_CHECKING:
    from scipy import sparse

CUTOFF = 0.1
"""Paths through calls that are worth less count as the tree's path alone. At 0.1 a statement still
reaches the body of the function it calls; at 0.05 there are three to four times as many pairs."""


LEVELS = 64
"""How far up from a node its share is carried. A share is at most 1 and halves with each level:
what is left after these, under 1e-19, is nothing beside the first. To go on would take the square
of the length of a file that nests ten thousand deep."""


Matrix: TypeAlias = "sparse.csr_array[np.float32, tuple[int, int]]"


@dataclass(frozen=True, slots=True)
class CallGain:
    """The entries of M·C·Mᵀ: what paths through calls add between fragments, by their numbers."""

    row: Nodes
    column: Nodes
    value: Weights


@dataclass(frozen=True, slots=True)
class Exposure:
    """One file's part of B: ``value[e]`` of fragment ``fragment[e]`` at trunk node ``node[e]``."""

    fragment: Nodes
    node: Nodes
    value: Weights


def exposures(trunks: Mapping[str, Trunk]) -> dict[str, Exposure]:
    """M·A of each file: the shares of its nodes, carried up to ``LEVELS`` ancestors."""
    starts = _starts(trunks)
    sizes = [len(item.parent) for item in trunks.values()]
    first = dict(zip(trunks, accumulate(sizes, initial=0), strict=False))
    width = max(sum(sizes), 1)
    parents, keys, shares = [], [], []
    for path, item in trunks.items():
        parents.append(np.where(item.parent == NONE, NONE, item.parent + first[path]))
        row = item.fragment.astype(np.int64) + starts[path]
        keys.append(row * width + item.node + first[path])
        shares.append(item.share.astype(np.float64))
    above, key, value = _joined(parents, keys, shares)
    levels = [(key, value)]
    while len(key) and len(levels) <= LEVELS:
        fragment, parent = key // width, above[key % width]
        inner = parent != NONE
        key, value = _summed(fragment[inner] * width + parent[inner], value[inner] * SYNTAX_EDGE)
        levels.append((key, value))
    key, value = _summed(*map(np.concatenate, zip(*levels, strict=True)))
    fragment, node = np.divmod(key, width)
    cuts = np.searchsorted(fragment, list(starts.values())[1:])
    parts = zip(trunks, *(np.split(item, cuts) for item in (fragment, node, value)), strict=True)
    return {
        path: Exposure(fragment - starts[path], node - first[path], value)
        for path, fragment, node, value in (parts if trunks else ())
    }


def _summed(key: Nodes, value: Weights) -> tuple[Nodes, Weights]:
    """Each key once, in order, with the sum of its values."""
    unique, place = np.unique(key, return_inverse=True)
    total: Weights = np.bincount(place, weights=value, minlength=len(unique)).astype(np.float64)
    return unique, total


@dataclass(frozen=True, slots=True)
class CodeOperator:
    """W of eq. 8 over N fragments, never multiplied out."""

    up: Matrix
    """B, shape (N, ancestors)."""
    gain: Floats
    """S, shape (ancestors,)."""
    calls: Matrix
    """M·C·Mᵀ, shape (N, N)."""
    total: Floats
    """``W·1``, shape (N,)."""

    @classmethod
    def of(cls, up: Matrix, gain: Floats, calls: Matrix) -> CodeOperator:
        """The operator of these factors; its mass is asked for with every search, so it is kept."""
        ones = np.ones(up.shape[0], dtype=np.float32)
        bare = cls(up, gain, calls, ones)
        return replace(bare, total=bare.propagate(ones))

    def propagate(self, scores: Floats) -> Floats:
        """``W·scores`` for scores of shape (N,) or (N, Q)."""
        gain = self.gain if scores.ndim == 1 else self.gain[:, None]
        result: Floats = self.up @ (gain * (self.up.T @ scores)) + self.calls @ scores
        return result

    def mass(self) -> Floats:
        """``W·1``, shape (N,)."""
        return self.total


class CodeRelation:
    """The relation of a repository's fragments, kept up to date file by file.

    The fragments of all files follow each other in the order of ``paths``.
    """

    def __init__(self, cutoff: float = CUTOFF) -> None:
        self._cutoff = cutoff
        self._state = _State({}, code_graph({}, {}), *_joined([], [], []))
        self._exposures: dict[str, Exposure] = {}
        self._operator: CodeOperator | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in the order of their fragments."""
        return tuple(self._state.trunks)

    @property
    def graph(self) -> CodeGraph:
        """The code graph of all files."""
        return self._state.graph

    @property
    def gain(self) -> CallGain:
        """What paths through calls add: the part of the relation that takes time to find."""
        return CallGain(self._state.row, self._state.column, self._state.value)

    def restore(
        self, trunks: Mapping[str, Trunk], calls: Mapping[str, Candidates], gain: CallGain
    ) -> None:
        """Become the relation of ``trunks``, whose ``gain`` is known."""
        graph = code_graph(trunks, calls)
        self._exposures = exposures(trunks)
        self._state = _State(trunks, graph, gain.row, gain.column, gain.value)
        self._operator = None

    def update(
        self,
        removed: Iterable[str],
        trunks: Mapping[str, Trunk],
        calls: Mapping[str, Candidates],
        most: float = MOST_PATHS,
    ) -> None:
        """Take out the files ``removed`` and put ``trunks`` last, in their order.

        A file that has changed is both removed and put last. ``calls`` holds the candidates of
        every file there is now. Raises TooManyPaths for files in which more than ``most`` paths
        through calls begin; then nothing has changed.
        """
        gone = set(removed)
        unchanged = {path: trunk for path, trunk in self._state.trunks.items() if path not in gone}
        all_trunks = {**unchanged, **trunks}
        self._state = _updated(self._state, unchanged, all_trunks, calls, self._cutoff, most)
        self._exposures = {path: self._exposures[path] for path in unchanged} | exposures(trunks)
        self._operator = None

    def operator(self) -> CodeOperator:
        """W over the fragments of all files."""
        if self._operator is None:
            self._operator = CodeOperator.of(*self._bind_tree(), self._state.call_matrix())
        return self._operator

    def _bind_tree(self) -> tuple[Matrix, Floats]:
        """B and S."""
        graph, starts = self._state.graph, _starts(self._state.trunks)
        rows = [exposure.fragment + starts[path] for path, exposure in self._exposures.items()]
        nodes = [exposure.node + graph.offset[path] for path, exposure in self._exposures.items()]
        values = [exposure.value for exposure in self._exposures.values()]
        row, node, value = _above_roots(graph, *_joined(rows, nodes, values))
        used = np.zeros(len(graph), dtype=np.bool_)
        used[node] = True
        column = np.cumsum(used) - 1
        shape = (_count(self._state.trunks), int(used.sum()))
        gain = (1 - graph.edge**2)[used].astype(np.float32)
        return _matrix(row, column[node], value, shape), gain


def _above_roots(
    graph: CodeGraph, row: Nodes, node: Nodes, value: Weights
) -> tuple[Nodes, Nodes, Weights]:
    """The entries of B below the files, and those of files and folders that follow from them.

    A root and its file are one edge of weight 1 apart, so the root adds nothing of its own.
    """
    root = graph.edge[node] == ROOT_EDGE
    levels = [(row[~root], node[~root], value[~root])]
    row, node, value = row[root], graph.parent[node[root]], value[root]
    while len(node):
        levels.append((row, node, value))
        inner = node > 0
        row, node, value = row[inner], graph.parent[node[inner]], value[inner] * FOLDER_EDGE
    return _joined(*zip(*levels, strict=True))


@dataclass(frozen=True, slots=True)
class _State:
    """A graph and M·C·Mᵀ over its fragments, as entries."""

    trunks: Mapping[str, Trunk]
    graph: CodeGraph
    row: Nodes
    column: Nodes
    value: Weights

    def call_matrix(self) -> Matrix:
        """M·C·Mᵀ, shape (N, N)."""
        count = _count(self.trunks)
        return _matrix(self.row, self.column, self.value, (count, count))

    def shares(self) -> Matrix:
        """M, shape (N, nodes)."""
        starts = _starts(self.trunks)
        return _matrix(
            *_joined(
                [part.fragment.astype(np.int64) + starts[p] for p, part in self.trunks.items()],
                [
                    part.node.astype(np.int64) + self.graph.offset[p]
                    for p, part in self.trunks.items()
                ],
                [part.share.astype(np.float64) for part in self.trunks.values()],
            ),
            (_count(self.trunks), len(self.graph)),
        )


def _updated(
    old: _State,
    unchanged: Mapping[str, Trunk],
    trunks: Mapping[str, Trunk],
    calls: Mapping[str, Candidates],
    cutoff: float,
    most: float,
) -> _State:
    """The state of ``trunks``; rows that no changed edge can have touched are carried over."""
    new = _State(trunks, code_graph(trunks, calls), *_joined([], [], []))
    search = CallSearch(new.graph, cutoff)
    share = new.shares()
    stale = search.leading_to(_changed(old, new, unchanged)).astype(np.float32)
    redone = share @ stale > 0
    sources = share.T @ redone.astype(np.float32) > 0
    ends = np.zeros(len(new.graph), dtype=np.bool_)
    ends[share.indices] = True
    row, column, value = _call_gain(search, new.graph, share, sources, ends, most)
    fresh = redone[row]
    number = _renumbered(old.trunks, new.trunks, unchanged)
    old_row, old_column = number[old.row], number[old.column]
    carried = (old_row != NONE) & (old_column != NONE)
    carried[carried] = ~redone[old_row[carried]]
    return replace(
        new,
        row=np.concatenate([old_row[carried], row[fresh]]),
        column=np.concatenate([old_column[carried], column[fresh]]),
        value=np.concatenate([old.value[carried], value[fresh]]),
    )


def _call_gain(
    search: CallSearch, graph: CodeGraph, share: Matrix, sources: Mask, ends: Mask, most: float
) -> tuple[Nodes, Nodes, Weights]:
    """The entries of M·C·Mᵀ for paths from ``sources``."""
    best = search.paths(sources, ends, most)
    gain = best.weight - tree_paths(graph, best.source, best.target)
    matrix = _matrix(best.source, best.target, gain, (len(graph), len(graph)))
    entries = (share @ matrix @ share.T).tocoo()
    return (
        entries.row.astype(np.int64),
        entries.col.astype(np.int64),
        entries.data.astype(np.float64),
    )


def _changed(old: _State, new: _State, unchanged: Mapping[str, Trunk]) -> Nodes:
    """The nodes of the new graph that came, or whose outgoing call edges are not what they were."""
    place = np.full(len(old.graph), NONE)
    own = np.ones(len(new.graph), dtype=np.bool_)
    for path, trunk in unchanged.items():
        nodes = np.arange(len(trunk.parent))
        place[old.graph.offset[path] + nodes] = new.graph.offset[path] + nodes
        own[new.graph.offset[path] + nodes] = False
    start, end = place[old.graph.start], place[old.graph.end]
    before = _edge_keys(start, end, old.graph.weight, len(new.graph))
    after = _edge_keys(new.graph.start, new.graph.end, new.graph.weight, len(new.graph))
    left = start[~np.isin(before, after)]
    joined = new.graph.start[~np.isin(after, before)]
    return np.concatenate([left[left != NONE], joined, np.flatnonzero(own)])


def _edge_keys(start: Nodes, end: Nodes, weight: Weights, size: int) -> Nodes:
    """A number for each edge, equal for equal edges; ``NONE`` where an end is not there."""
    sharing = np.rint(CALL_EDGE / weight).astype(np.int64)
    key = (start * size + end) * (MAX_CANDIDATES + 1) + sharing
    return np.where((start == NONE) | (end == NONE), NONE, key)


def _renumbered(
    old: Mapping[str, Trunk], new: Mapping[str, Trunk], unchanged: Mapping[str, Trunk]
) -> Nodes:
    """The new number of each old fragment, or ``NONE``."""
    starts = _starts(new)
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate(
        [
            none,
            *(
                starts[path] + np.arange(trunk.fragments)
                if path in unchanged
                else np.full(trunk.fragments, NONE)
                for path, trunk in old.items()
            ),
        ]
    )


def _count(trunks: Mapping[str, Trunk]) -> int:
    return sum(trunk.fragments for trunk in trunks.values())


def _starts(trunks: Mapping[str, Trunk]) -> dict[str, int]:
    """The first fragment of each file."""
    sizes = [trunk.fragments for trunk in trunks.values()]
    return dict(zip(trunks, accumulate(sizes, initial=0), strict=False))


def _joined(
    rows: Iterable[Nodes], nodes: Iterable[Nodes], values: Iterable[Weights]
) -> tuple[Nodes, Nodes, Weights]:
    """Columns of parts as columns of the whole."""
    return (
        np.concatenate([np.zeros(0, dtype=np.int64), *rows]),
        np.concatenate([np.zeros(0, dtype=np.int64), *nodes]),
        np.concatenate([np.zeros(0), *values]),
    )


def import_sparse() -> ModuleType:
    """Return ``scipy.sparse``, which takes long to import. Raise MissingExtra."""
    try:
        with forks.importing():
            from scipy import sparse
    except ImportError as error:
        raise MissingExtra.of("scipy", "code") from error
    return sparse


def _matrix(row: Nodes, column: Nodes, value: Weights, shape: tuple[int, int]) -> Matrix:
    scipy_sparse = import_sparse()
    matrix: Matrix = scipy_sparse.csr_array((value.astype(np.float32), (row, column)), shape=shape)
    return matrix
