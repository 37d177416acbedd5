"""Searching summaries and originals together: fragments and summaries are ranked as one space."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.errors import InputError
from treering.journal.contract import Reader
from treering.journal.space import SpaceReader
from treering.search.pipeline import rank
from treering.search.ranking import Ranking
from treering.search.relations.contract import MISSING, Items, Plan, Relation, Relations, Weighted
from treering.search.relations.tree import TreeOperator, TreeRelation
from treering.search.searcher import Search
from treering.search.snapshot import Snapshot, widen
from treering.search.terms import Terms, terms
from treering.views.tree import store
from treering.views.tree.leaves import leaf_of_fragments
from treering.views.tree.shape import NOWHERE, ROOT, Tree

Allowed = NDArray[np.bool_]

TREE_ALPHA: Final = 0.5
"""Weight of the tree relation where it is asked for: FragRel's default for any relation."""


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """Fragments, then summaries, as one snapshot.

    ``base`` has the fragments alone, and where rounds are leaves a row for each round: then
    ``fragments`` has them one by one, and ``round_of`` the row of each in ``base``. ``node`` is the
    node of every row, or MISSING; exact repetitions share a node. ``row`` is the first row of every
    node that has one.
    """

    base: Snapshot
    fragments: Snapshot
    round_of: Codes | None
    snapshot: Snapshot
    node: Codes
    row: Mapping[int, int]
    relation: TreeRelation

    @property
    def texts(self) -> int:
        """How many rows are fragments, or rounds of them."""
        return len(self.base)

    def distinct(self, allowed: Allowed | None) -> Allowed:
        """One row of every node, and the rows without a node, of those that are ``allowed``."""
        rows = np.arange(len(self.node)) if allowed is None else np.flatnonzero(allowed)
        node = self.node[rows]
        firsts = np.unique(node, return_index=True)[1]
        shown = np.zeros(len(self.node), dtype=np.bool_)
        shown[rows[firsts]] = True
        shown[rows[node == MISSING]] = True
        return shown

    def rows_that_meet(self, allowed: Allowed | None) -> Allowed | None:
        """The rows that meet a filter, given which fragments do; None for all.

        A summary meets the filter if every text below it does. Else it could reveal a text that
        the filter excludes. A round does if some of its messages do, and those above it if all do.
        """
        if allowed is None:
            return None
        whole = allowed
        if self.round_of is not None:
            meeting = np.bincount(self.round_of, weights=allowed, minlength=self.texts)
            whole = meeting == np.bincount(self.round_of, minlength=self.texts)
            allowed = meeting > 0
        parents = self.relation.parents
        # ``other`` marks the leaves none of whose texts meets the filter. Every summary above one
        # of them is mixed.
        other = np.ones(len(parents), dtype=np.bool_)
        other[parents[parents != MISSING]] = False
        standing = self.node[: self.texts][whole]
        other[standing[standing != MISSING]] = False
        mixed = np.zeros(len(parents), dtype=np.bool_)
        above = parents[other]
        while len(above := np.unique(above[above != MISSING])):
            mixed[above] = True
            above = parents[above]
        return np.concatenate([allowed, ~mixed[self.node[self.texts :]]])

    def members(self, row: int, allowed: Allowed | None) -> Codes:
        """The fragments at a row of ``base`` that are ``allowed``, rows of ``fragments``."""
        if self.round_of is None:
            return np.array([row])
        members = np.flatnonzero(self.round_of == row)
        if allowed is not None:
            members = members[allowed[members]]
        return members[np.argsort(self.fragments.items.position[members])]

    def best_texts(
        self, summaries: Sequence[int], scores: Floats, allowed: Allowed | None
    ) -> dict[int, int]:
        """For each summary row, the row of the highest-scoring text below it that is ``allowed``.

        The summaries meet the filter: below each is such a text.
        """
        stands = self.node[: self.texts] != MISSING
        # A repetition of an allowed text may be of a source that the filter does not allow.
        rows = np.flatnonzero(stands if allowed is None else stands & allowed[: self.texts])
        wanted = {int(self.node[row]): row for row in summaries}
        best: dict[int, int] = {}
        for row in rows[np.argsort(-scores[rows], kind="stable")].tolist():
            node = int(self.relation.parents[self.node[row]])
            while node != MISSING:
                if node in wanted:
                    best[wanted.pop(node)] = row
                node = int(self.relation.parents[node])
            if not wanted:
                break
        return best


@dataclass(frozen=True, slots=True)
class TreeRelatives:
    """The tree relation over the fragments of a search, as of one revision of the tree.

    ``places`` maps fragments to the parent of every node, and to the node of each fragment.
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
    """Ranks nodes. Keeps the widened snapshot for one state of fragments and tree."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._relations = Relations()
        self._key: tuple[int, int] | None = None
        self._wide: NodeSnapshot | None = None
        self._terms: dict[str, Terms] = {}
        self._version = 0

    def wide(
        self,
        reader: SpaceReader,
        tree: Tree,
        revision: int,
        fragments: Snapshot,
        rounds: tuple[Snapshot, Codes] | None,
    ) -> NodeSnapshot:
        """The space with its summaries, built once for each state.

        Where rounds are leaves, ``rounds`` has a row for each, and the row of every fragment.
        """
        key = (fragments.version, revision)
        with self._lock:
            if self._wide is None or self._key != key:
                self._version += 1
                self._wide = self._build(reader, tree, fragments, rounds)
                self._key = key
            return self._wide

    def _build(
        self,
        reader: SpaceReader,
        tree: Tree,
        fragments: Snapshot,
        rounds: tuple[Snapshot, Codes] | None,
    ) -> NodeSnapshot:
        base, round_of = rounds or (fragments, None)
        width = base.items.vectors.shape[1]
        model = reader.model
        stored = store.embedded_summaries(reader, model) if model else []
        made = [one for one in stored if one[0] in tree and len(one[2]) == width]
        numbers = np.array([number for number, _, _ in made], dtype=np.int64)
        vectors = np.array([vector for *_, vector in made], np.float32).reshape(len(made), width)
        # Terms are expensive; a text that has not changed keeps its own.
        known = self._terms
        self._terms = {t: known[t] if t in known else terms(t) for _, t, _ in made}
        summary_terms = [self._terms[text] for _, text, _ in made]
        snapshot = widen(base, summary_terms, vectors, self._version)
        parents, of_fragments = places(reader, tree, base.fragment)
        node = np.concatenate([of_fragments, numbers])
        there = np.flatnonzero(node != MISSING)
        first = there[np.unique(node[there], return_index=True)[1]]
        row = dict(zip(node[first].tolist(), first.tolist(), strict=True))
        relation = TreeRelation(parents, node)
        return NodeSnapshot(base, fragments, round_of, snapshot, node, row, relation)

    def rank(self, wide: NodeSnapshot, search: Search) -> Ranking:
        """``own + Σ_r α_r·env_r`` over fragments and summaries."""
        # The relation in the plan knows fragments alone; here summaries are rows as well.
        bound = {
            kind: [
                Weighted(wide.relation, choice.alpha)
                if isinstance(choice.relation, TreeRelatives)
                else choice
                for choice in weighted
            ]
            for kind, weighted in search.plan.items()
        }
        return rank(wide.snapshot, self._relations, replace(search, plan=bound))


def with_tree(plan: Plan, relation: Relation) -> Plan:
    """The plan with the tree relation added for every kind of content but code."""
    added = Weighted(relation, TREE_ALPHA)
    return {
        kind: list(weighted) if kind == "code" else [*weighted, added]
        for kind, weighted in plan.items()
    }


def places(reader: Reader, tree: Tree, fragments: Codes) -> tuple[Codes, Codes]:
    """The parent of every node, MISSING below the root, and the leaf of each fragment."""
    parents = tree.parents()
    rows = sorted(leaf_of_fragments(reader))
    stands, leaves = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    # A fragment whose leaf is not in this tree is related to nothing.
    there = leaves < len(parents)
    there[there] = parents[leaves[there]] != NOWHERE
    stands, leaves = stands[there], leaves[there]
    nodes = np.full(len(fragments), MISSING, dtype=np.int64)
    if len(stands):
        place = np.minimum(np.searchsorted(stands, fragments), len(stands) - 1)
        nodes = np.where(stands[place] == fragments, leaves[place], MISSING)
    parents[parents == ROOT] = MISSING  # the root says nothing: two topics are not relatives
    return parents, nodes
