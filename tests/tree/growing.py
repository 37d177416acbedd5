"""Vectors and trees for the tests of this folder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treering.views.choices import SpaceSettings, TreeRoute
from treering.views.tree.shape import Tree

Matrix = NDArray[np.float32]


def unit_rows(rows: NDArray[np.float64]) -> Matrix:
    unit: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def random_vectors(count: int, *, dimension: int = 8, seed: int = 0) -> Matrix:
    return unit_rows(np.random.default_rng(seed).normal(size=(count, dimension)))


def clustered(clusters: int, each: int, *, dimension: int = 32, spread: float, seed: int) -> Matrix:
    """Clusters around orthogonal axes, in random order."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(np.eye(dimension)[:clusters], each, axis=0)
    noise = rng.normal(size=centres.shape) * spread / np.sqrt(dimension)
    return unit_rows(rng.permutation(centres + noise))


def settings(
    base: float = 0.4, *, rate: float = 0.5, max_depth: int = 16, route: TreeRoute = "leaves"
) -> SpaceSettings:
    return SpaceSettings(tree_base=base, tree_rate=rate, tree_depth=max_depth, tree_route=route)


def grown(vectors: Matrix, chosen: SpaceSettings | None = None) -> Tree:
    tree = Tree(vectors.shape[1], chosen)
    for vector in vectors:
        tree.insert(vector)
    return tree


def restored(tree: Tree) -> Tree:
    nodes = [tree.node(number) for number in tree.walk() if number != 0]
    vectors = [(node.number, tree.vector(node.number)) for node in nodes if node.leaf]
    return Tree.restore(tree.dimension, tree.settings, nodes, vectors, bound=tree.bound)


def state(tree: Tree) -> dict[int, tuple[int, tuple[int, ...], bytes]]:
    """Everything that decides where the next text goes, to the bit."""
    return {
        node: (tree.parent(node), tuple(tree.children(node)), tree.vector(node).tobytes())
        for node in tree.walk()
        if node != 0
    }
