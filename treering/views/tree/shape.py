"""The tree itself: columns of nodes, insert, remove (MemTree, section 3.1 and algorithm 1).

No text, no language model, no database: vectors in, node numbers out. Numbers are given in order
of creation and never reused, so that a number is an identity.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treering.errors import DimensionMismatch, InputError, UnknownName, UnknownNode
from treering.views.tree.family import FEW, Exact, Family, Rows, Vector, exact, mean
from treering.views.tree.settings import Settings

ROOT: Final = 0
NOWHERE: Final = -1

Ints = NDArray[np.int64]


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
    expanded keeps its number; the new summary node takes its rank and its place.
    """

    def __init__(
        self, dimension: int, settings: Settings | None = None, rows: Rows | None = None
    ) -> None:
        if dimension < 1:
            raise InputError(f"a vector has at least 1 component, not {dimension}")
        self.dimension = dimension
        self.rows = rows or Rows(dimension)
        self.settings = settings or Settings()
        depths = range(self.settings.max_depth + 1)
        self._thresholds = [self.settings.threshold(depth) for depth in depths]
        self._parent = array("q", [NOWHERE])
        self._rank = array("q", [0])
        self._families: dict[int, Family] = {ROOT: Family()}
        self._contents: dict[int, Vector] = {}
        self._leaves = 0
        self._deepest: int | None = 0  # None: to be looked for, since something was removed

    # --- reading -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of nodes, without the root."""
        return self._leaves + len(self._families) - 1

    def __contains__(self, node: int) -> bool:
        return node == ROOT or (0 < node < self.bound and self._parent[node] != NOWHERE)

    @property
    def leaf_count(self) -> int:
        """How many leaves there are."""
        return self._leaves

    @property
    def bound(self) -> int:
        """One more than the highest number ever given: the length of a column over nodes."""
        return len(self._parent)

    def is_leaf(self, node: int) -> bool:
        """Whether the node holds an original text."""
        return self._check_node(node) not in self._families

    def parent(self, node: int) -> int:
        """The node above; the root's is -1."""
        return self._parent[self._check_node(node)]

    def parents(self) -> Ints:
        """Parent of every number below ``bound``; -1 for the root and for numbers that are gone."""
        return np.array(self._parent)

    def children(self, node: int) -> list[int]:
        """The children in order of arrival; none for a leaf."""
        family = self._families.get(self._check_node(node))
        return list(family.members) if family else []

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

    def deepest(self) -> int:
        """The greatest depth of any node; 0 for an empty tree."""
        if self._deepest is None:
            depths = {ROOT: 0}
            for node in self.walk():  # parents come first
                if node != ROOT:
                    depths[node] = depths[self._parent[node]] + 1
            self._deepest = max(depths.values())
        return self._deepest

    def walk(self, start: int = ROOT) -> Iterator[int]:
        """``start`` and all below it, each before its children, in order of arrival."""
        stack = [self._check_node(start)]
        while stack:
            node = stack.pop()
            yield node
            family = self._families.get(node)
            if family:
                stack.extend(reversed(family.members))

    def leaves(self, start: int = ROOT) -> Iterator[int]:
        """The leaves at or below ``start``."""
        return (node for node in self.walk(start) if node not in self._families)

    def summaries(self) -> list[int]:
        """The nodes that stand for others, in order of creation."""
        return sorted(node for node in self._families if node != ROOT)

    def nodes(self) -> Iterator[Node]:
        """Every node but the root, as it is stored."""
        return (self.node(number) for number in self.walk() if number != ROOT)

    def node(self, number: int) -> Node:
        """One node as it is stored."""
        return Node(number, self.parent(number), self._rank[number], number not in self._families)

    def vector(self, node: int) -> Vector:
        """The vector that inserts are compared with at this node, shape (d,)."""
        return self.rows[self._check_node(node)].copy()

    def total(self, node: int) -> Exact:
        """The exact sum of the leaf vectors at or below a node, in fixed point."""
        family = self._families.get(self._check_node(node))
        if family is not None and family.total is not None:
            return family.total
        summed: Exact = exact(self.rows.together(list(self.leaves(node)))).sum(axis=0)
        return summed

    def leaves_below(self, node: int) -> int:
        """How many leaves a node stands for; 1 for a leaf."""
        family = self._families.get(self._check_node(node))
        return family.leaves if family else 1

    def newest(self, node: int) -> int:
        """The highest number a leaf at or below a node ever had."""
        family = self._families.get(self._check_node(node))
        return family.newest if family else node

    def leaves_since(self, node: int, since: int) -> list[int]:
        """The leaves at or below a node with a number above ``since``, oldest first."""
        stack, leaves = [node], []
        while stack:
            current = stack.pop()
            family = self._families.get(current)
            if family is None:
                leaves += [current] if current > since else []
            elif family.newest > since:
                stack.extend(family.members)
        return sorted(leaves)

    def central(self, node: int, limit: int) -> list[int]:
        """Of a node's children the ``limit`` most like all that is below it, in their order."""
        family = self._families[self._check_node(node)]
        if len(family) <= limit:
            return list(family.members)
        likeness = family.vectors(self.rows) @ mean(self.total(node), family.leaves)
        best = np.sort(np.argsort(-likeness, kind="stable")[:limit])
        return [family.members[slot] for slot in best]

    # --- growing -----------------------------------------------------------------------------

    def insert(self, vector: Vector) -> Insertion:
        """Attach a new leaf where the thresholds lead it; O(branching · depth · d).

        ``vector`` has unit length (or is all zero for a text that cannot be embedded). Raises
        DimensionMismatch.
        """
        vector = self._check_vector(vector)
        descent = self._descend(vector)
        end = descent[-1]
        # The number is also the rank: it grows with every insert, as the order of arrival does.
        leaf = self._new(rank=self.bound)
        self.rows[leaf] = vector
        self._leaves += 1
        split = sibling = None
        if end not in self._families:
            sibling = end
            split = descent[-1] = self._expand(end)
        self._attach(leaf, descent[-1])
        self._add(descent, exact(vector), leaves=1, newest=leaf)
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
        gone = self.total(leaf)  # taken while the leaf still has its vector
        self._families[parent].remove(leaf)
        self._deepest = None
        self._add((ROOT, *path), -gone, leaves=-1)
        del self.rows[leaf]
        self._parent[leaf] = NOWHERE
        self._leaves -= 1
        heir = None
        if parent != ROOT and len(self._families[parent]) == 1:
            heir = self._dissolve(parent)
        if erased:
            self._forget_contents(path)
        if heir is None:
            return Removal(path)
        return Removal(path[:-1], parent, heir)

    def set_content(self, node: int, vector: Vector) -> None:
        """Set the embedding of a summary node's text; inserts use it if ``route`` is "content"."""
        if self.is_leaf(node) or node == ROOT:
            raise UnknownName(f"node {node} is not a summary; only summaries get a new content")
        if self.settings.route == "content":
            self._contents[node] = self._check_vector(vector)
            self._refresh(node)

    @classmethod
    def restore(
        cls,
        dimension: int,
        settings: Settings,
        nodes: Sequence[Node],
        rows: Rows,
        *,
        bound: int = ROOT + 1,
    ) -> Tree:
        """The tree that was stored; ``rows`` are the leaves' vectors, by number.

        ``bound`` is at least that of the stored tree, so that no number is given twice.
        """
        tree = cls(dimension, settings, rows)
        size = max([bound, *(node.number + 1 for node in nodes)])
        tree._parent, tree._rank = array("q", [NOWHERE]) * size, array("q", [0]) * size
        for node in nodes:
            tree._parent[node.number] = node.parent
            tree._rank[node.number] = node.rank
            if not node.leaf:
                tree._families[node.number] = Family()
        tree._leaves = sum(node.leaf for node in nodes)
        for node in sorted(nodes, key=lambda node: node.rank):
            if not node.leaf:
                tree.rows[node.number] = np.zeros(dimension, dtype=np.float32)
            tree._attach(node.number, node.parent)
        tree._deepest = None
        tree._restore_totals()
        return tree

    # --- inside ------------------------------------------------------------------------------

    def _descend(self, vector: Vector) -> list[int]:
        """The nodes from the root to the newcomer's parent; a leaf at the end must be expanded."""
        node, descent = ROOT, [ROOT]
        deepest = self.settings.max_depth
        family = self._families.get(ROOT)
        while family:
            node, similarity = family.nearest(vector, self.rows)
            depth = len(descent) - 1
            # The best child is not similar enough: the newcomer becomes its sibling.
            if similarity < self._threshold(depth):
                break
            family = self._families.get(node)
            # Expanding a leaf at the greatest depth would go below it: join its family instead.
            if family is None and depth + 1 >= deepest:
                break
            descent.append(node)
        return descent

    def _threshold(self, depth: int) -> float:
        if self.settings.form == "current":
            return self.settings.threshold(depth, self.deepest())
        return self._thresholds[depth]

    def _expand(self, leaf: int) -> int:
        """Put a summary node in a leaf's place, with the leaf as its first child."""
        parent, inner = self._parent[leaf], self._new(rank=self._rank[leaf])
        family = self._families[inner] = Family()
        family.leaves, family.newest = 1, leaf
        self.rows[inner] = self.rows[leaf]
        self._parent[inner] = parent
        self._families[parent].replace(leaf, inner, self.rows)
        self._attach(leaf, inner)
        return inner

    def _dissolve(self, node: int) -> int:
        """Put a node's only child in its place."""
        parent, heir = self._parent[node], self._families[node].members[0]
        del self._families[node], self.rows[node]
        self._contents.pop(node, None)
        self._parent[node] = NOWHERE
        self._parent[heir], self._rank[heir] = parent, self._rank[node]
        self._families[parent].replace(node, heir, self.rows)
        return heir

    def _attach(self, node: int, parent: int) -> None:
        self._families[parent].append(node, self.rows)
        self._parent[node] = parent

    def _add(self, line: Sequence[int], change: Exact, *, leaves: int, newest: int = ROOT) -> None:
        """Add ``change`` to the totals from the root down, and update the routing vectors.

        The leaf itself has been attached or detached already.
        """
        for node in line:
            family = self._families[node]
            family.leaves += leaves
            family.newest = max(family.newest, newest)
            # Small families keep no sum. One that has just outgrown ``FEW`` sums its leaves once,
            # the changed leaf included; a larger one adds the change alone.
            if family.leaves <= FEW:
                family.total = None
            elif family.total is None:
                family.total = self.total(node)
            else:
                family.total += change
            if node != ROOT and node not in self._contents:
                self._refresh(node)

    def _refresh(self, node: int) -> None:
        vector = self._contents.get(node)
        if vector is None:
            vector = mean(self.total(node), self._families[node].leaves)
        self.rows[node] = vector
        self._families[self._parent[node]].refresh(node, self.rows)

    def _forget_contents(self, path: Sequence[int]) -> None:
        """Drop the embeddings of summaries that still speak of a removed text."""
        for node in path:
            if self._contents.pop(node, None) is not None and node in self._families:
                self._refresh(node)

    def _restore_totals(self) -> None:
        # ``walk`` gives parents before children. Reversed, every child is complete when added.
        for node in reversed(list(self.walk())):
            if node in self._families:
                family = self._families[node]
                for child in family.members:
                    family.leaves += self.leaves_below(child)
                    family.newest = max(family.newest, self.newest(child))
                if family.leaves > FEW:
                    zero = np.zeros(self.dimension, dtype=np.int64)
                    family.total = sum(map(self.total, family.members), zero)
                if node != ROOT:
                    self._refresh(node)

    def _new(self, rank: int) -> int:
        self._parent.append(NOWHERE)
        self._rank.append(rank)
        return self.bound - 1

    def _check_vector(self, vector: Vector) -> Vector:
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
