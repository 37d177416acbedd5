"""The syntax nodes that stand for fragments (FragRel eq. 8), and the trunk that joins them.

The non-overlapping nodes of a fragment are the largest ones that lie inside it. They, the calls and
the definitions, with all that is above them, are the only nodes a best path between fragments
can pass; the rest of the syntax tree is dropped without changing any path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Floats
from treering.views.code.parse.cuts import Lines
from treering.views.code.parse.outline import NONE, Ints, ParsedFile, SyntaxTree


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
