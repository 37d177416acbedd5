"""How good a hierarchy is (MemTree, appendix B and A.3.8).

- the Moseley-Wang revenue, and β of the data. Both are sums over vectors: the pairs of leaves whose
  lowest common ancestor is v weigh ``(|Σ x|² − Σ_children |Σ x|²) / 2`` together, so the revenue
  takes O(nodes · d) instead of O(N³);
- OTD, the online hierarchical clustering MemTree is compared with (Menon et al. 2019, B.2);
- the odd-one-out test, with embeddings as the judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.views.tree.shape import ROOT, Tree

Doubles = NDArray[np.float64]

SAMPLED_LEAVES: Final = 500
"""Newcomers that β is estimated with; its low quantile moves by less than 0.01 beyond that."""

LOW_QUANTILE: Final = 0.05

DRAWS_PER_QUESTION: Final = 20
"""Random sources tried for one odd-one-out question; a tree of one branch has no alternatives."""


@dataclass(frozen=True, slots=True)
class Separation:
    """How well the data are separated under a tree (assumption 1).

    ``least`` is the largest β for which the assumption holds for every newcomer tried; a single
    outlier decides it, so ``low`` gives the 5 % quantile. ``cases`` is how many triples of a
    newcomer, a subtree and a passed-over child the assumption speaks of.
    """

    least: float
    low: float
    cases: int


def revenue(tree: Tree) -> float:
    """``Σ_{i<j} w_ij · (n − leaves(lca(i, j)))`` with ``w = (1 + cos)/2``, n leaves; exact."""
    total = 0.0
    for node in tree.summaries():
        size, children = tree.leaves_below(node), tree.children(node)
        pairs = size**2 - sum(tree.leaves_below(child) ** 2 for child in children)
        products = _square(tree, node) - sum(_square(tree, child) for child in children)
        total += (pairs + products) / 4 * (tree.leaf_count - size)
    return total


def apart(tree: Tree) -> float:
    """The share of all similarity, ``Σ w_ij``, between leaves that meet only at the root.

    Such pairs earn no revenue, whatever hierarchy is below. NaN for fewer than two leaves.
    """
    if tree.leaf_count < 2:
        return float("nan")
    topics = sum(_pairs(tree, topic) for topic in tree.children(ROOT))
    return 1 - topics / _pairs(tree, ROOT)


def _pairs(tree: Tree, node: int) -> float:
    """The similarity of all pairs of leaves at or below a node."""
    size = tree.leaves_below(node)
    return (size * (size - 1) + _square(tree, node) - size) / 4


def separation(tree: Tree, *, seed: int = 0) -> Separation:
    """An estimate of β: each sampled leaf is taken as the newcomer of assumption 1.

    Let S be a subtree that the newcomer x enters: x is more similar to S than the leaves of S are
    to each other. Let A be a child of S, but not the child most similar to x. Then β is at most
    ``w(A) / w(A, x)``. A child with a single leaf has no inner similarity and is left out.
    """
    leaves = list(tree.leaves())
    chosen = np.random.default_rng(seed).permutation(len(leaves))[:SAMPLED_LEAVES]
    ratios = np.array([r for i in sorted(chosen) for r in _ratios(tree, leaves[i])])
    if not len(ratios):
        return Separation(1.0, 1.0, 0)
    least, low = float(ratios.min()), float(np.quantile(ratios, LOW_QUANTILE))
    return Separation(min(least, 1.0), min(low, 1.0), len(ratios))


def _ratios(tree: Tree, leaf: int) -> Iterator[float]:
    x = _sum(tree, leaf)
    line = {*tree.path(leaf), leaf}
    for subtree in tree.path(leaf):
        size, total = tree.leaves_below(subtree) - 1, _sum(tree, subtree) - x
        if size < 2 or _across(total, size, x) <= _within(total, size):
            continue
        similar = []
        for child in tree.children(subtree):
            own = int(child in line)
            part, count = _sum(tree, child) - own * x, tree.leaves_below(child) - own
            if count:
                similar.append((_across(part, count, x), part, count))
        best = max(range(len(similar)), key=lambda i: similar[i][0])
        for i, (across, part, count) in enumerate(similar):
            if i != best and count > 1:
                yield _within(part, count) / across if across > 0 else 1.0


def _sum(tree: Tree, node: int) -> Doubles:
    leaves = [tree.vector(leaf) for leaf in tree.leaves(node)]
    total: Doubles = np.sum(leaves, axis=0, dtype=np.float64)
    return total


def _square(tree: Tree, node: int) -> float:
    total = _sum(tree, node)
    return float(total @ total)


def _across(total: Doubles, size: int, x: Doubles) -> float:
    """Mean similarity ``(1 + cos)/2`` of x and ``size`` vectors that add up to ``total``."""
    return (1 + float(total @ x) / size) / 2


def _within(total: Doubles, size: int) -> float:
    """Mean similarity of the pairs of ``size`` unit vectors that add up to ``total``."""
    return (1 + (float(total @ total) - size) / (size * (size - 1))) / 2


@dataclass(slots=True, eq=False)
class _Cluster:
    """A subtree: its number of leaves, the sum of their vectors, and its two halves, if any."""

    size: int
    total: Doubles
    halves: list[_Cluster] = field(default_factory=list)

    def within(self) -> float:
        """Mean similarity inside; a single leaf is as similar to itself as can be."""
        if self.size == 1:
            return 1.0
        squares = float(self.total @ self.total) - self.size
        return (1 + squares / (self.size * (self.size - 1))) / 2

    def across(self, x: Doubles) -> float:
        """Mean similarity to x."""
        return (1 + float(self.total @ x) / self.size) / 2


def otd_revenue(vectors: Iterable[NDArray[np.float32]]) -> float:
    """The Moseley-Wang revenue, ``w = (1 + cos)/2``, of the tree OTD builds from unit vectors."""
    root: _Cluster | None = None
    for vector in vectors:
        leaf = _Cluster(1, vector.astype(np.float64))
        root = leaf if root is None else _insert(root, leaf)
    return _binary_revenue(root) if root else 0.0


def _insert(root: _Cluster, leaf: _Cluster) -> _Cluster:
    """The tree with the leaf in it; clusters on the way grow in place."""
    x = leaf.total
    above: list[_Cluster] = []
    here = root
    while here.halves and here.across(x) > here.within():
        above.append(here)
        here = max(here.halves, key=lambda half: half.across(x))
    joined = _Cluster(here.size + 1, here.total + x, [here, leaf])
    if not above:
        return joined
    above[-1].halves[above[-1].halves.index(here)] = joined
    for cluster in above:
        cluster.size += 1
        cluster.total = cluster.total + x
    return root


def _binary_revenue(root: _Cluster) -> float:
    stack, total = [root], 0.0
    while stack:
        cluster = stack.pop()
        if cluster.halves:
            left, right = cluster.halves
            weight = (left.size * right.size + float(left.total @ right.total)) / 2
            total += weight * (root.size - cluster.size)
            stack += [left, right]
    return total


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


def odd_one_out(tree: Tree, *, questions: int = 500, seed: int = 0) -> OddOneOut:
    """The paper's human test (A.3.8) with the embeddings of the texts as the judge.

    A question is a random summary node, a random descendant of it, and a random stranger: a node of
    the descendant's depth that is not below the summary. A node is judged by its texts; what the
    summary shares with the descendant is left out of it, or the question would hold its answer.
    """
    rng = np.random.default_rng(seed)
    depth_of = tree.depths()
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
        rest = _direction(_sum(tree, source) - _sum(tree, near))
        likeness = [float(rest @ _direction(_sum(tree, node))) for node in (near, far)]
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


def _direction(total: Doubles) -> Doubles:
    """The unit vector of a sum; zero where the summands cancel out."""
    norm = float(np.sqrt(total @ total))
    return total / norm if norm else total
