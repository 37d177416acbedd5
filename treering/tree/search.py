"""Searching summaries and originals together: fragments and summaries are ranked as one space."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.fragments.build import checked
from treering.fragments.table import Snapshot
from treering.fragments.widen import widened
from treering.journal.contract import Reader
from treering.recall.rank import Ranking, rank
from treering.relate.combine import Relations
from treering.relate.contract import MISSING, Codes, Floats, Items
from treering.relate.defaults import Weighted
from treering.relate.registry import Plan
from treering.relate.tree import TreeOperator, TreeRelation
from treering.tree import store
from treering.tree.retrieve import collapsed, traversal
from treering.tree.shape import ROOT, Tree

Method = Literal["related", "collapsed", "traversal"]
METHODS: Final = ("related", "collapsed", "traversal")

TREE_ALPHA: Final = 0.5
"""Weight of the tree relation where it is asked for: FragRel's default for any relation."""

FOCUS: Final = 1.0
"""In standard deviations of the own score. With a linear relevance the many leaves that matter a
little outweigh the few that hold the answer: of narrow FairytaleQA questions 42 % of the answers'
words were found in 400 tokens instead of 76 %. 0.5 and 2 do as well as 1."""


@dataclass(frozen=True, slots=True)
class Wide:
    """Fragments, then summaries, as one snapshot; ``node`` is the node of every row.

    Of fragments that repeat each other exactly only the first has a node, the others MISSING.
    ``row`` gives the row of every node that has one.
    """

    snapshot: Snapshot
    node: Codes
    row: Mapping[int, int]
    relation: TreeRelation

    def rows(self, *, leaves_only: bool = False) -> Codes:
        """The rows that have a node."""
        last = int((self.snapshot.fragment != MISSING).sum()) if leaves_only else len(self.node)
        return np.flatnonzero(self.node[:last] != MISSING)


@dataclass(frozen=True, slots=True)
class InTree:
    """The tree relation over the fragments of a search, as of one revision of the tree.

    ``places`` gives the forest's parents and the node of each fragment.
    """

    places: Callable[[Codes], tuple[Codes, Codes]]
    revision: int
    w: float = 0.5
    name: str = "tree"

    def bind(self, items: Items) -> TreeOperator:
        """The operator over the fragments; those without a leaf are related to nothing."""
        if items.fragment is None:
            raise InputError("the tree relates only the fragments of the space it has grown over")
        parents, nodes = self.places(items.fragment)
        return TreeRelation(parents, nodes, self.w).bind(items)


class TreeSearch:
    """Ranks nodes; keeps what it built for one state of fragments and tree."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._relations = Relations()
        self._key: tuple[int, int] | None = None
        self._wide: Wide | None = None
        self._version = 0

    def wide(self, reader: Reader, space: int, tree: Tree, revision: int, base: Snapshot) -> Wide:
        """The space with its summaries, built once for each state."""
        key = (base.version, revision)
        with self._lock:
            if self._wide is None or self._key != key:
                self._version += 1
                self._wide = _widen(reader, space, tree, base, self._version)
                self._key = key
            return self._wide

    def rank(
        self, wide: Wide, query: str, embedder: Embedder, defaults: Plan, alpha: float
    ) -> Ranking:
        """``own + Σ_r α_r·env_r`` over fragments and summaries, the tree among the relations."""
        tree = Weighted(wide.relation, alpha)
        plan = {kind: [*weighted, tree] for kind, weighted in defaults.items()}
        vectors = checked(embedder, [query], query=True)
        return rank(wide.snapshot, self._relations, plan, [query], vectors, "hybrid")


def pick(
    tree: Tree, wide: Wide, scores: Floats, k: int, method: Method, least: float | None
) -> list[tuple[int, float]]:
    """The nodes that a method finds, with their scores of shape (rows,)."""
    if method not in METHODS:
        raise InputError(f"method is {method!r}; it can be {', '.join(METHODS)}")
    cut = -math.inf if least is None else least
    if method != "traversal":
        rows = wide.rows()
        return collapsed(wide.node[rows], scores[rows], k, least=cut)

    def score(nodes: Sequence[int]) -> Floats:
        known = [scores[wide.row[node]] if node in wide.row else -np.inf for node in nodes]
        return np.array(known, dtype=np.float32)

    return [found for found in traversal(tree, score, k, least=cut) if found[0] in wide.row]


def cosines(wide: Wide, query: str, embedder: Embedder) -> Floats:
    """The cosine of every row with a query, shape (rows,)."""
    found: Floats = wide.snapshot.items.vectors @ checked(embedder, [query], query=True)[0]
    return found


def _widen(reader: Reader, space: int, tree: Tree, base: Snapshot, version: int) -> Wide:
    numbers, texts, vectors = _summaries(reader, space, tree, base.items.vectors.shape[1])
    snapshot = widened(base, texts, vectors, version)
    parents, of_fragments = places(reader, space, tree, base.fragment)
    node = np.concatenate([_first_only(of_fragments), numbers]).astype(np.int64)
    row = {int(node[index]): int(index) for index in np.flatnonzero(node != MISSING)}
    return Wide(snapshot, node, row, TreeRelation(parents, node))


def places(reader: Reader, space: int, tree: Tree, fragments: Codes) -> tuple[Codes, Codes]:
    """The parents of all nodes without the root, and the leaf each fragment stands on."""
    standing = dict(store.standing(reader, space))
    leaves = [standing.get(int(one), MISSING) for one in fragments]
    nodes = np.array([leaf if leaf in tree else MISSING for leaf in leaves], dtype=np.int64)
    parents = tree.parents()
    parents[parents == ROOT] = MISSING  # the root says nothing: two topics are not relatives
    return parents, nodes


def _summaries(
    reader: Reader, space: int, tree: Tree, width: int
) -> tuple[Codes, list[str], Floats]:
    """Numbers, texts and vectors of the summaries that have been made."""
    rows = [row for row in store.made(reader, space, width) if row[0] in tree]
    numbers = np.array([row[0] for row in rows], dtype=np.int64)
    vectors = np.zeros((len(rows), width), dtype=np.float32)
    for index, row in enumerate(rows):
        vectors[index] = row[2]
    return numbers, [row[1] for row in rows], vectors


def _first_only(nodes: Codes) -> Codes:
    """The nodes with every repetition of one replaced by MISSING."""
    first = np.zeros(len(nodes), dtype=np.bool_)
    first[np.unique(nodes, return_index=True)[1]] = True
    return np.where(first, nodes, MISSING)


def relevance(wide: Wide, scores: Floats, most: int) -> dict[int, float]:
    """How much the ``most`` best leaves matter: the best 1, one ``FOCUS`` below it 1/e."""
    rows = wide.rows(leaves_only=True)
    order = rows[np.argsort(-scores[rows], kind="stable")[:most]]
    if not len(order):
        return {}
    matter = np.exp((scores[order] - scores[order[0]]) / FOCUS)
    return {int(wide.node[row]): float(one) for row, one in zip(order, matter, strict=True)}
