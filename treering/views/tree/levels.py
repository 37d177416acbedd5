"""The shape of a tree in figures, by depth (MemTree, table 5, A.3.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
class Shape:
    """A tree in figures. ``branching`` is the mean number of children of a summary."""

    nodes: int
    leaves: int
    topics: int
    max_depth: int
    branching: float
    levels: tuple[Level, ...]


def depths(tree: Tree) -> dict[int, int]:
    """The depth of every node but the root."""
    depth_of = {ROOT: 0}
    for node in tree.walk():
        for child in tree.children(node):
            depth_of[child] = depth_of[node] + 1
    del depth_of[ROOT]
    return depth_of


def shape(tree: Tree, tokens: Mapping[int, int]) -> Shape:
    """The figures of a tree; ``tokens`` holds the length of each node's text, if it has one."""
    by_depth: dict[int, list[int]] = {}
    for node, depth in depths(tree).items():
        by_depth.setdefault(depth, []).append(node)
    summaries = tree.summaries()
    links = sum(len(tree.children(node)) for node in summaries)
    return Shape(
        nodes=len(tree),
        leaves=tree.leaf_count,
        topics=len(tree.children(ROOT)),
        max_depth=max(by_depth, default=0),
        branching=links / len(summaries) if summaries else 0.0,
        levels=tuple(_level(tree, depth, by_depth[depth], tokens) for depth in sorted(by_depth)),
    )


def _level(tree: Tree, depth: int, nodes: list[int], tokens: Mapping[int, int]) -> Level:
    with forks.importing():
        from statistics import median  # here, as it takes longer to import than to use

    leaves = sum(tree.is_leaf(node) for node in nodes)
    lengths = [tokens[node] for node in nodes if node in tokens]
    return Level(depth, leaves, len(nodes) - leaves, median(lengths) if lengths else 0.0)
