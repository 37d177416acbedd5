"""What a tree looks like and whether it makes sense (MemTree, table 5, A.3.7, A.3.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from treering import forks
from treering.views.tree.family import direction
from treering.views.tree.shape import ROOT, Tree

DRAWS_PER_QUESTION: Final = 20
"""Random sources tried for one odd-one-out question; a tree of one branch has no alternatives."""


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


@dataclass(frozen=True, slots=True)
class OddOneOut:
    """How often a descendant is closer to the rest of its ancestor than a stranger of its depth is.

    The rest are the ancestor's texts but the descendant's own, which would give it away.
    ``easy``: the two alternatives meet only at the root; ``hard``: below it. A share is NaN where
    no question could be asked.
    """

    easy: float
    hard: float
    easy_asked: int
    hard_asked: int


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


def odd_one_out(tree: Tree, *, questions: int = 500, seed: int = 0) -> OddOneOut:
    """The paper's human test (A.3.8) with the embeddings of the texts as the judge.

    A question is a random summary node, a random descendant of it, and a random stranger: a node of
    the descendant's depth that is not below the summary. A node is judged by its texts; what the
    summary shares with the descendant is left out of it, or the question would hold its answer.
    """
    rng = np.random.default_rng(seed)
    depth_of = depths(tree)
    at_depth: dict[int, list[int]] = {}
    for node, depth in depth_of.items():
        at_depth.setdefault(depth, []).append(node)
    sources = tree.summaries()
    right: dict[bool, list[bool]] = {True: [], False: []}
    for _ in range(questions * DRAWS_PER_QUESTION if sources else 0):
        source = sources[rng.integers(len(sources))]
        below = list(tree.walk(source))[1:]
        near = below[rng.integers(len(below))]
        if tree.leaves_below(near) == tree.leaves_below(source):
            continue  # the summary has no other text to compare with
        strangers = sorted(set(at_depth[depth_of[near]]).difference(below, [source]))
        if not strangers:
            continue
        far = strangers[rng.integers(len(strangers))]
        easy = _branch(tree, near) != _branch(tree, far)
        rest = direction(tree.total(source) - tree.total(near))
        likeness = [float(rest @ direction(tree.total(node))) for node in (near, far)]
        right[easy].append(likeness[0] > likeness[1])
        if len(right[True]) + len(right[False]) == questions:
            break
    return OddOneOut(
        easy=_share(right[True]),
        hard=_share(right[False]),
        easy_asked=len(right[True]),
        hard_asked=len(right[False]),
    )


def _branch(tree: Tree, node: int) -> int:
    """The child of the root that the node stands at or below."""
    return (*tree.path(node), node)[0]


def _share(answers: list[bool]) -> float:
    return sum(answers) / len(answers) if answers else float("nan")
