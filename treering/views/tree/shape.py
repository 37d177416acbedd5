"""The tree itself: columns of nodes, insert, remove (MemTree, section 3.1 and algorithm 1).

No text, no language model, no database: vectors in, node numbers out. Numbers are given in order
of creation and never reused, so that a number is an identity.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from treering.arrays import Codes, Floats, product
from treering.errors import DimensionMismatch, InputError, UnknownName, UnknownNode
from treering.views.choices import SpaceSettings

ROOT: Final = 0
NOWHERE: Final = -1

LEAST_ROWS: Final = 64
"""Rows that the vectors of a tree have room for at first."""


_STEEPEST: Final = 700.0  # e to a higher power is more than a float holds; no cosine comes near


def threshold(settings: SpaceSettings, depth: int, deepest: int = 1) -> float:
    """Return θ(depth): the least cosine at which an insert goes on into a node's best child.

    The root has depth 0. ``deepest`` is the depth of the tree by now, for the form "current".
    """
    exponent = settings.tree_rate * depth
    if settings.tree_form == "scaled":
        exponent /= settings.tree_depth
    elif settings.tree_form == "current":
        exponent /= max(deepest, 1)
    return settings.tree_base * math.exp(min(exponent, _STEEPEST))


class Insertion(NamedTuple):
    """The result of an insert: the new ``leaf`` and the summary nodes above it, top first.

    If an old leaf was expanded, ``split`` is the summary node in its place (the last of ``path``),
    and ``sibling`` is the old leaf. Else both are None.
    """

    leaf: int
    path: tuple[int, ...]
    split: int | None = None
    sibling: int | None = None


class Removal(NamedTuple):
    """The result of a removal: the summary nodes whose texts must be made again, top first.

    ``dissolved`` is the parent if it was left with one child; that child, ``heir``, took its place.
    """

    path: tuple[int, ...]
    dissolved: int | None = None
    heir: int | None = None


class Node(NamedTuple):
    """One node as it is stored: enough, with the leaves' vectors, to restore a tree."""

    number: int
    parent: int
    rank: int
    leaf: bool


class Tree:
    """An online hierarchy over vectors of one dimension.

    ``rank`` orders the children of a node by the arrival of their first leaf. A leaf that is
    expanded keeps its number; the new summary node takes its rank and its place. Inserts compare
    with the vector of a summary: that of its text for the route "content", if it has one, else the
    mean of the vectors below, which follows from its children's alone.
    """

    def __init__(self, dimension: int, settings: SpaceSettings | None = None) -> None:
        if dimension < 1:
            raise InputError(f"a vector has at least 1 component, not {dimension}")
        self.dimension = dimension
        self.settings = settings or SpaceSettings()
        self._parent = array("q", [NOWHERE])
        self._rank = array("q", [0])
        self._below = array("q", [0])  # leaves at or below each node
        self._vectors: Floats = np.zeros((LEAST_ROWS, dimension), dtype=np.float32)
        self._children: dict[int, array[int]] = {ROOT: array("q")}
        self._contents: dict[int, Floats] = {}
        self._deepest: int | None = 0  # None: to be looked for, since something was removed

    # --- reading -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of nodes, without the root."""
        return self.leaf_count + len(self._children) - 1

    def __contains__(self, node: int) -> bool:
        return node == ROOT or (0 < node < self.bound and self._parent[node] != NOWHERE)

    @property
    def leaf_count(self) -> int:
        """How many leaves there are."""
        return self._below[ROOT]

    @property
    def bound(self) -> int:
        """One more than the highest number ever given: the length of a column over nodes."""
        return len(self._parent)

    def is_leaf(self, node: int) -> bool:
        """Whether the node holds an original text."""
        return self._check_node(node) not in self._children

    def parent(self, node: int) -> int:
        """The node above; the root's is -1."""
        return self._parent[self._check_node(node)]

    def parents(self) -> Codes:
        """Parent of every number below ``bound``; -1 for the root and for numbers that are gone."""
        return np.array(self._parent)

    def children(self, node: int) -> list[int]:
        """The children in order of arrival; none for a leaf."""
        return list(self._children.get(self._check_node(node), ()))

    def path(self, node: int) -> tuple[int, ...]:
        """The summary nodes above a node, top first; the root is left out."""
        above = []
        current = self.parent(node)
        while current > ROOT:
            above.append(current)
            current = self._parent[current]
        return tuple(reversed(above))

    def depth(self, node: int) -> int:
        """0 for the root, 1 for its children."""
        return 0 if node == ROOT else len(self.path(node)) + 1

    def depths(self) -> dict[int, int]:
        """The depth of every node but the root."""
        depth_of = {ROOT: 0}
        for node in self.walk():  # parents come first
            if node != ROOT:
                depth_of[node] = depth_of[self._parent[node]] + 1
        del depth_of[ROOT]
        return depth_of

    def deepest(self) -> int:
        """The greatest depth of any node; 0 for an empty tree."""
        if self._deepest is None:
            self._deepest = max(self.depths().values(), default=0)
        return self._deepest

    def walk(self, start: int = ROOT) -> Iterator[int]:
        """``start`` and all below it, each before its children, in order of arrival."""
        stack = [self._check_node(start)]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(self._children.get(node, ())))

    def leaves(self, start: int = ROOT) -> Iterator[int]:
        """The leaves at or below ``start``."""
        return (node for node in self.walk(start) if node not in self._children)

    def leaves_since(self, node: int, since: int) -> list[int]:
        """The leaves at or below a node with a number above ``since``, oldest first."""
        return sorted(leaf for leaf in self.leaves(node) if leaf > since)

    def summaries(self) -> list[int]:
        """The nodes that stand for others, in order of creation."""
        return sorted(node for node in self._children if node != ROOT)

    def node(self, number: int) -> Node:
        """One node as it is stored."""
        return Node(number, self.parent(number), self._rank[number], self.is_leaf(number))

    def vector(self, node: int) -> Floats:
        """The vector that inserts are compared with at this node, shape (d,)."""
        vector: Floats = self._vectors[self._check_node(node)].copy()
        return vector

    def leaves_below(self, node: int) -> int:
        """How many leaves a node stands for; 1 for a leaf."""
        return self._below[self._check_node(node)]

    def central(self, node: int, limit: int) -> list[int]:
        """Of a node's children the ``limit`` most like all that is below it, in their order."""
        children = self.children(node)
        likeness = product(self._vectors[children], self._vectors[node])
        best = np.sort(np.argsort(-likeness, kind="stable")[:limit])
        return [children[place] for place in best]

    # --- growing -----------------------------------------------------------------------------

    def insert(self, vector: Floats) -> Insertion:
        """Attach a new leaf where the thresholds lead it; O(branching · depth · d).

        ``vector`` has unit length (or is all zero for a text that cannot be embedded). Raises
        DimensionMismatch.
        """
        vector = self._check_vector(vector)
        descent = self._descend(vector)
        end = descent[-1]
        # The number is also the rank: it grows with every insert, as the order of arrival does.
        leaf = self._new(rank=self.bound)
        self._vectors[leaf] = vector
        split = sibling = None
        if end not in self._children:
            sibling = end
            split = descent[-1] = self._expand(end)
        self._attach(leaf, descent[-1])
        self._update(descent)
        if self._deepest is not None:
            self._deepest = max(self._deepest, len(descent))
        return Insertion(leaf, tuple(descent[1:]), split, sibling)

    def remove(self, leaf: int, *, erased: bool = True) -> Removal:
        """Take a leaf out; a parent left with one child gives its place to that child.

        Where its text was ``erased``, inserts no longer go by the texts of the summaries above.
        """
        if not self.is_leaf(leaf):
            raise UnknownName(f"node {leaf} is a summary; only leaves can be changed")
        path, parent = self.path(leaf), self.parent(leaf)
        self._children[parent].remove(leaf)
        self._parent[leaf] = NOWHERE
        self._deepest = None
        removal = Removal(path)
        if parent != ROOT and len(self._children[parent]) == 1:
            removal = Removal(path[:-1], parent, self._dissolve(parent))
        if erased:
            for node in path:
                self._contents.pop(node, None)
        self._update((ROOT, *removal.path))
        return removal

    def set_content(self, node: int, vector: Floats) -> None:
        """Set the embedding of a summary node's text; the route "content" uses it."""
        if self.is_leaf(node) or node == ROOT:
            raise UnknownName(f"node {node} is not a summary; only summaries get a new content")
        if self.settings.tree_route == "content":
            self._contents[node] = self._check_vector(vector)
            self._update((*self.path(node), node))

    @classmethod
    def restore(
        cls,
        dimension: int,
        settings: SpaceSettings,
        nodes: Sequence[Node],
        vectors: Iterable[tuple[int, Floats]],
        contents: Mapping[int, Floats] = {},
        *,
        bound: int = ROOT + 1,
    ) -> Tree:
        """The tree that was stored, with the ``vectors`` of leaves, and of summaries' texts.

        ``bound`` is at least that of the stored tree, so that no number is given twice.
        """
        tree = cls(dimension, settings)
        size = max([bound, *(node.number + 1 for node in nodes)])
        tree._parent = array("q", [NOWHERE]) * size
        tree._rank, tree._below = array("q", [0]) * size, array("q", [0]) * size
        tree._vectors = np.zeros((size, dimension), dtype=np.float32)
        tree._children |= {node.number: array("q") for node in nodes if not node.leaf}
        for number, vector in vectors:
            tree._vectors[number] = vector
        if settings.tree_route == "content":
            tree._contents = dict(contents)
        for node in sorted(nodes, key=lambda node: node.rank):
            tree._rank[node.number] = node.rank
            tree._below[node.number] = int(node.leaf)
            tree._attach(node.number, node.parent)
        tree._deepest = None
        tree._update([node for node in tree.walk() if node in tree._children])
        return tree

    # --- inside ------------------------------------------------------------------------------

    def _descend(self, vector: Floats) -> list[int]:
        """The nodes from the root to the newcomer's parent; a leaf at the end must be expanded."""
        node, descent = ROOT, [ROOT]
        max_depth = self.settings.tree_depth
        deepest = self.deepest() if self.settings.tree_form == "current" else 0
        while children := self._children.get(node):
            similarities = product(self._vectors.take(np.array(children), axis=0), vector)
            best = int(similarities.argmax())  # the earliest of equals
            depth = len(descent) - 1
            # The best child is not similar enough: the newcomer becomes its sibling.
            if similarities[best] < threshold(self.settings, depth, deepest):
                break
            node = children[best]
            # Expanding a leaf at the greatest depth would go below it: join its family instead.
            if node not in self._children and depth + 1 >= max_depth:
                break
            descent.append(node)
        return descent

    def _expand(self, leaf: int) -> int:
        """Put a summary node in a leaf's place, with the leaf as its first child."""
        parent, inner = self._parent[leaf], self._new(rank=self._rank[leaf])
        self._children[inner] = array("q")
        self._replace(parent, leaf, inner)
        self._attach(leaf, inner)
        return inner

    def _dissolve(self, node: int) -> int:
        """Put a node's only child in its place."""
        parent, heir = self._parent[node], self._children.pop(node)[0]
        self._contents.pop(node, None)
        self._parent[node] = NOWHERE
        self._rank[heir] = self._rank[node]
        self._replace(parent, node, heir)
        return heir

    def _attach(self, node: int, parent: int) -> None:
        self._children[parent].append(node)
        self._parent[node] = parent

    def _replace(self, parent: int, old: int, new: int) -> None:
        children = self._children[parent]
        children[children.index(old)] = new
        self._parent[new] = parent

    def _update(self, line: Sequence[int]) -> None:
        """Count the leaves below summaries, and set their vectors; parents come first in line."""
        for node in reversed(line):
            children = np.array(self._children[node])
            below = np.frombuffer(self._below, dtype=np.int64)[children]
            self._below[node] = int(below.sum())
            if node in self._contents:
                self._vectors[node] = self._contents[node]
            elif node != ROOT:
                share = (below / self._below[node]).astype(np.float32)
                self._vectors[node] = product(share, self._vectors.take(children, axis=0))

    def _new(self, rank: int) -> int:
        self._parent.append(NOWHERE)
        self._rank.append(rank)
        self._below.append(1)
        if self.bound > len(self._vectors):
            grown = np.zeros((self.bound * 3 // 2, self.dimension), dtype=np.float32)
            grown[: len(self._vectors)] = self._vectors
            self._vectors = grown
        return self.bound - 1

    def _check_vector(self, vector: Floats) -> Floats:
        if vector.shape != (self.dimension,):
            raise DimensionMismatch(
                f"a vector of shape {vector.shape} for a tree of dimension {self.dimension}; "
                "embed with the model the tree was built with"
            )
        return np.ascontiguousarray(vector, dtype=np.float32)

    def _check_node(self, node: int) -> int:
        if node not in self:
            raise UnknownNode(f"no node {node} in the tree of {len(self)} nodes")
        return node
