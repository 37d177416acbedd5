"""The code structure relation (FragRel eq. 8) as a sparse operator.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from treering.arrays import Floats
from treering.errors import MissingExtra
from treering.views.choices import EdgeWeights
from treering.views.code.graph.code_graph import (
    EDGES,
    CodeGraph,
    Nodes,
    Trunk,
    Weights,
    code_graph,
    tree_paths,
)
from treering.views.code.graph.paths import CallSearch
from treering.views.code.graph.resolve import Candidates

if TYPE_CHECKING:
    from scipy import sparse

CUTOFF = 0.1
"""Paths through calls that are worth less count as the tree's path alone. At 0.1 a statement still
reaches the body of the function it calls; at 0.05 there are three to four times as many pairs."""


DOUBLINGS = 6
"""A node's share is carried up to 2⁶ − 1 levels. A share is at most 1 and halves with each: the
rest after these, under 1e-19, is negligible beside the first. To go on would take the square of
the length of a file that nests ten thousand deep."""


Matrix: TypeAlias = "sparse.csr_array[np.float32, tuple[int, int]]"


_NO_NODES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CodeOperator:
    """W of eq. 8 over N fragments, never multiplied out."""

    up: Matrix
    """B, shape (N, ancestors)."""
    gain: Floats
    """S, shape (ancestors,)."""
    calls: Matrix
    """M·C·Mᵀ, shape (N, N)."""

    def propagate(self, scores: Floats) -> Floats:
        """``W·scores`` for scores of shape (N,) or (N, Q)."""
        gain = self.gain if scores.ndim == 1 else self.gain[:, None]
        result: Floats = self.up @ (gain * (self.up.T @ scores)) + self.calls @ scores
        return result

    @cached_property
    def mass(self) -> Floats:
        """``W·1``, shape (N,)."""
        return self.propagate(np.ones(self.up.shape[0], dtype=np.float32))


@dataclass(frozen=True, eq=False)
class CodeRelation:
    """The relation of a repository's fragments.

    ``share`` are the shares M of the graph's nodes, shape (N, nodes).
    """

    graph: CodeGraph
    share: Matrix
    cutoff: float

    @classmethod
    def build(
        cls,
        trunks: Mapping[str, Trunk],
        calls: Mapping[str, Candidates],
        edges: EdgeWeights = EDGES,
        cutoff: float = CUTOFF,
    ) -> CodeRelation:
        """The relation of some files, given the candidates of their calls."""
        graph = code_graph(trunks, calls, edges)
        sizes = [trunk.fragments for trunk in trunks.values()]
        starts = dict(zip(trunks, accumulate(sizes, initial=0), strict=False))
        rows = [part.fragment + starts[path] for path, part in trunks.items()]
        nodes = [part.node + graph.offset[path] for path, part in trunks.items()]
        shares = [part.share for part in trunks.values()]
        share = matrix(
            np.concatenate([_NO_NODES, *rows]),
            np.concatenate([_NO_NODES, *nodes]),
            np.concatenate([np.zeros(0), *shares]),
            (sum(sizes), len(graph)),
        )
        return cls(graph, share, cutoff)

    @cached_property
    def operator(self) -> CodeOperator:
        """W over the fragments of all files."""
        calls = _call_gain(self.graph, self.share, self.cutoff)
        return CodeOperator(*_bind_tree(self.share, self.graph), calls)


def _bind_tree(share: Matrix, graph: CodeGraph) -> tuple[Matrix, Floats]:
    """B and S, for the nodes at or above those that hold something.

    With P the weight of the way to each node's parent, ``M·(I + P + P² + …)``, twice as many of
    the terms with each step.
    """
    child = np.arange(1, len(graph))
    parents = matrix(child, graph.parent[1:], graph.edge[1:], (len(graph), len(graph)))
    for _ in range(DOUBLINGS):
        share = share + share @ parents
        parents = parents @ parents
    gain = (1 - graph.edge**2).astype(np.float32)
    held = np.zeros(len(graph), dtype=np.bool_)
    held[share.indices] = True
    used = np.flatnonzero(held & (gain > 0))  # a root and its file are one edge of weight 1 apart
    return share[:, used], gain[used]


def _call_gain(graph: CodeGraph, share: Matrix, cutoff: float) -> Matrix:
    """M·C·Mᵀ, the gain of paths through calls between fragments."""
    held = np.zeros(len(graph), dtype=np.bool_)
    held[share.indices] = True
    source, target, weight = CallSearch(graph, held, cutoff).paths()
    gain = weight - tree_paths(graph, source, target)
    gains = matrix(source, target, gain, (len(graph), len(graph)))
    return share @ gains @ share.T


def matrix(
    row: Sequence[int] | Nodes,
    column: Sequence[int] | Nodes,
    value: Sequence[float] | Weights,
    shape: tuple[int, int],
) -> Matrix:
    """A sparse matrix of its values that are not zero. Raises MissingExtra."""
    try:
        from scipy import sparse  # scipy takes long to import
    except ImportError as error:
        raise MissingExtra.of("scipy", "code") from error
    ends = (np.asarray(row, dtype=np.int64), np.asarray(column, dtype=np.int64))
    result: Matrix = sparse.csr_array((np.asarray(value, dtype=np.float32), ends), shape=shape)
    return result
