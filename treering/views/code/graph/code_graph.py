"""The code graph of a repository (FragRel appendix A).

Nodes are folders, files and the syntax nodes of the files' trunks. Edges (``EdgeWeights``): of the
syntax tree, of the folder tree, from file to syntax root, and from call to definition, shared by
the candidates if there are several. ``Dis`` of two nodes is the weight of the best path between
them, the product of its edges.

The non-overlapping nodes of a fragment are the largest ones that lie inside it. They, the calls and
the definitions, with all that is above them, are the only nodes a best path between fragments can
pass: the trunk of a file. The rest of its syntax tree is dropped without changing any path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Floats
from treering.views.choices import EdgeWeights
from treering.views.code.graph.resolve import Candidates
from treering.views.code.parse.cuts import Lines
from treering.views.code.parse.outline import NONE, Ints, ParsedFile, SyntaxTree

EDGES: Final = EdgeWeights()

HUB_CALLS = 32
"""A definition called from more places leads from its callers to itself, but not from itself to
them: a function that everything calls relates none of its callers, and its pairs of callers would
grow with the square of their number."""

Nodes = NDArray[np.int64]
Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trunk:
    """One file's part of the code graph: columns over the kept nodes, pre-order, node 0 the root.

    ``fragment``, ``node`` and ``share`` are the entries of M: how much of a fragment's syntax text
    a node holds; the shares of a fragment sum to 1.
    """

    parent: Ints
    calls: Ints
    """The node of each call of the file."""
    definitions: Ints
    """The node of each definition of the file."""
    fragments: int
    fragment: Ints
    node: Ints
    share: Floats


def trunk(parsed: ParsedFile, fragments: tuple[Lines, ...]) -> Trunk:
    """The trunk of ``parsed`` for ``fragments``, which are in order of their first lines."""
    fragment, node = _largest_inside(parsed, fragments)
    calls = np.array([call.node for call in parsed.calls], dtype=np.int32)
    definitions = np.array([definition.node for definition in parsed.definitions], dtype=np.int32)
    mask = _with_ancestors(parsed.tree, np.concatenate([node, calls, definitions]))
    place = np.cumsum(mask, dtype=np.int32) - 1
    parent = parsed.tree.parent[mask]
    length = (parsed.tree.end - parsed.tree.start)[node].astype(np.float32)
    total = np.bincount(fragment, weights=length, minlength=len(fragments))
    return Trunk(
        parent=np.where(parent == NONE, NONE, place[parent]).astype(np.int32),
        calls=place[calls],
        definitions=place[definitions],
        fragments=len(fragments),
        fragment=fragment.astype(np.int32),
        node=place[node],
        share=(length / total[fragment]).astype(np.float32),
    )


def _largest_inside(
    parsed: ParsedFile, fragments: tuple[Lines, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All (fragment, node) where the node lies inside the fragment and its parent does not."""
    tree = parsed.tree
    solid = tree.end > tree.start
    first, last = _lines_of(parsed)
    begins = np.array([lines.first for lines in fragments], dtype=np.int64)
    ends = np.array([lines.last for lines in fragments], dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    newest = np.searchsorted(begins, first, side="right") - 1
    pairs = [(none, none)] + [
        _inside(newest - back, begins, ends, first, last, tree.parent, solid)
        for back in range(_overlap(begins, ends))
    ]
    return (
        np.concatenate([fragment for fragment, _ in pairs]),
        np.concatenate([node for _, node in pairs]),
    )


def _inside(
    candidate: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    parent: Ints,
    solid: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes that are the largest inside their candidate fragment."""
    fragment = np.maximum(candidate, 0)
    fits = (candidate >= 0) & solid & (last <= ends[fragment]) if len(ends) else solid & False
    node = np.flatnonzero(fits)
    fragment = fragment[node]
    above = parent[node]
    held = (above != NONE) & (first[above] >= begins[fragment]) & (last[above] <= ends[fragment])
    return fragment[~held], node[~held]


def _overlap(begins: NDArray[np.int64], ends: NDArray[np.int64]) -> int:
    """How many consecutive fragments can hold the same line."""
    if not len(begins):
        return 0
    return int((np.searchsorted(begins, ends, side="right") - np.arange(len(begins))).max())


def _lines_of(parsed: ParsedFile) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and last line of every node."""
    source = np.frombuffer(parsed.source, dtype=np.uint8)
    breaks = np.flatnonzero(source == ord("\n"))
    first = np.searchsorted(breaks, parsed.tree.start, side="left") + 1
    # a node's last byte decides, so that a trailing line break does not count as a line
    final = np.maximum(parsed.tree.end - 1, parsed.tree.start)
    return first, np.searchsorted(breaks, final, side="left") + 1


def _with_ancestors(tree: SyntaxTree, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The mask of ``nodes``, the root and everything on the way to it."""
    mask = np.zeros(len(tree), dtype=np.bool_)
    mask[0] = True
    while len(nodes):
        mask[nodes] = True
        above = np.unique(tree.parent[nodes])
        nodes = above[(above != NONE) & ~mask[above]]
    return mask


@dataclass(frozen=True, slots=True)
class CodeGraph:
    """The graph as columns over its nodes; a parent comes before its children, node 0 is the top.

    ``start``, ``end`` and ``weight`` are the call edges in each direction they can be followed.
    """

    parent: Nodes
    edge: Weights
    """The weight of the edge to the parent; 0 for node 0, the root."""
    is_syntax: NDArray[np.bool_]
    """Whether the edge to the parent is of a syntax tree."""
    offset: Mapping[str, int]
    """The node of each file's syntax root; its trunk's nodes follow."""
    start: Nodes
    end: Nodes
    weight: Weights
    edges: EdgeWeights

    def __len__(self) -> int:
        return len(self.parent)


def code_graph(
    trunks: Mapping[str, Trunk], calls: Mapping[str, Candidates], edges: EdgeWeights = EDGES
) -> CodeGraph:
    """The graph of the files ``trunks`` with their calls."""
    tree = _Tree(edges)
    for path, trunk in trunks.items():
        tree.add(path, trunk)
    caller, callee, weight = _call_edges(trunks, calls, tree.offset, edges.call)
    called = np.bincount(callee, minlength=tree.size)
    back = called[callee] <= HUB_CALLS
    return CodeGraph(
        parent=np.concatenate(tree.parents),
        edge=np.concatenate(tree.edges),
        is_syntax=np.concatenate(tree.is_syntax),
        offset=tree.offset,
        start=np.concatenate([caller, callee[back]]),
        end=np.concatenate([callee, caller[back]]),
        weight=np.concatenate([weight, weight[back]]),
        edges=edges,
    )


class _Tree:
    """The parsing tree of a repository while files are added to it."""

    def __init__(self, edges: EdgeWeights) -> None:
        self._weights = edges
        self.parents: list[Nodes] = [np.array([NONE])]
        self.edges: list[Weights] = [np.zeros(1)]
        self.is_syntax = [np.zeros(1, dtype=np.bool_)]
        self.offset: dict[str, int] = {}
        self.size = 1
        self._folders = {PurePosixPath("."): 0}

    def add(self, path: str, trunk: Trunk) -> None:
        """Append a file's node and the nodes of its trunk, root first."""
        above = self._folder(PurePosixPath(path).parent)
        syntax = trunk.parent[1:].astype(np.int64) + self.size + 1
        self.parents.append(np.concatenate([[above, self.size], syntax]))
        to_file = np.array([self._weights.folder, self._weights.root])
        self.edges.append(np.concatenate([to_file, np.full(len(syntax), self._weights.syntax)]))
        self.is_syntax.append(np.arange(2 + len(syntax)) > 1)
        self.offset[path] = self.size + 1
        self.size += 1 + len(trunk.parent)

    def _folder(self, path: PurePosixPath) -> int:
        """The node of a folder, made on first use."""
        # No recursion: folders may be nested deeper than functions.
        missing = [folder for folder in (path, *path.parents) if folder not in self._folders]
        for folder in reversed(missing):
            self.parents.append(np.array([self._folders[folder.parent]]))
            self.edges.append(np.array([self._weights.folder]))
            self.is_syntax.append(np.zeros(1, dtype=np.bool_))
            self._folders[folder] = self.size
            self.size += 1
        return self._folders[path]


def _call_edges(
    trunks: Mapping[str, Trunk],
    calls: Mapping[str, Candidates],
    offset: Mapping[str, int],
    weight: float,
) -> tuple[Nodes, Nodes, Weights]:
    """Caller, callee and weight of every candidate of every call."""
    definitions = {path: (t.definitions + offset[path]).tolist() for path, t in trunks.items()}
    edges = [
        (node, definitions[target.path][target.place], weight / len(targets))
        for path, candidates in calls.items()
        for node, targets in zip(
            (trunks[path].calls + offset[path]).tolist(), candidates, strict=True
        )
        for target in targets
    ]
    table = np.array(edges, dtype=np.float64).reshape(-1, 3)
    return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2]


def tree_paths(graph: CodeGraph, left: Nodes, right: Nodes, least: float = 0.0) -> Weights:
    """The weight of the path from each of ``left`` to that of ``right`` along the tree alone.

    A path that weighs less than ``least`` gets any weight below ``least``.
    """
    weight = np.ones(len(left))
    left, right = left.copy(), right.copy()
    active = np.flatnonzero(left != right)
    # a parent has a smaller number, so the larger of two different nodes is never above the other
    while len(active):
        deeper = left[active] > right[active]
        side = np.where(deeper, left[active], right[active])
        weight[active] *= graph.edge[side]
        left[active[deeper]] = graph.parent[side[deeper]]
        right[active[~deeper]] = graph.parent[side[~deeper]]
        active = active[(left[active] != right[active]) & (weight[active] >= least)]
    return weight
