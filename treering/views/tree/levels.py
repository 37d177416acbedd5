"""The figures of a tree, by depth (MemTree, table 5, A.3.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treering import forks
from treering.views.tree.shape import ROOT, Tree


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes of one depth. ``tokens`` is the median length of their texts."""

    depth: int
    leaves: int
    summaries: int
    tokens: float


@dataclass(frozen=True, slots=True)
class TreeStats:
    """A tree in figures: its shape, its pending summaries, the makers of its texts, their cost.

    ``branching`` is the mean number of children of a summary.
    """

    nodes: int = 0
    leaves: int = 0
    topics: int = 0
    max_depth: int = 0
    branching: float = 0.0
    levels: tuple[Level, ...] = ()
    pending: int = 0
    made_by: dict[str, int] = field(default_factory=dict)
    calls_per_leaf: float = 0.0
    tokens_per_leaf: float = 0.0


def depths(tree: Tree) -> dict[int, int]:
    """The depth of every node but the root."""
    depth_of = {ROOT: 0}
    for node in tree.walk():
        for child in tree.children(node):
            depth_of[child] = depth_of[node] + 1
    del depth_of[ROOT]
    return depth_of


def measure(tree: Tree, tokens: Mapping[int, int]) -> TreeStats:
    """The shape of a tree; ``tokens`` holds the length of each node's text, if it has one."""
    with forks.importing():
        from statistics import median  # here, as it takes longer to import than to use

    by_depth: dict[int, list[int]] = {}
    for node, depth in depths(tree).items():
        by_depth.setdefault(depth, []).append(node)
    levels = []
    for depth, nodes in sorted(by_depth.items()):
        leaves = sum(tree.is_leaf(node) for node in nodes)
        lengths = [tokens[node] for node in nodes if node in tokens]
        middle = median(lengths) if lengths else 0.0
        levels.append(Level(depth, leaves, len(nodes) - leaves, middle))
    topics, summaries = len(tree.children(ROOT)), len(tree) - tree.leaf_count
    return TreeStats(
        nodes=len(tree),
        leaves=tree.leaf_count,
        topics=topics,
        max_depth=max(by_depth, default=0),
        branching=(len(tree) - topics) / summaries if summaries else 0.0,
        levels=tuple(levels),
    )
