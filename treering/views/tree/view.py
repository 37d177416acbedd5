"""``memory.tree``: the tree of summaries over one space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np

from treering.arrays import Codes
from treering.embed.checked import checked
from treering.errors import LLMNotConfigured, UnknownEntry, UnknownNode
from treering.hints import Hint
from treering.journal import entries, ledger, work
from treering.journal.space import SpaceReader, SpaceState
from treering.llm.tokens import estimate_tokens
from treering.records import ChatUnit, Context, Filter, Hit, Mode, Progress
from treering.search.context import CountTokens, Layout, assemble_whole
from treering.search.filters import allowed_rows
from treering.search.relations.contract import MISSING
from treering.search.relations.plan import Plan
from treering.search.searcher import check_choice, check_count, check_queries, known_until
from treering.views.choices import TreeMethod, check_setting
from treering.views.contract import Resources
from treering.views.follow import SETTLE_PATIENCE_S
from treering.views.tree import draw, store
from treering.views.tree.aggregate import (
    EXTRACTIVE,
    Aggregator,
    ExtractiveAggregator,
    LLMAggregator,
)
from treering.views.tree.draw import Branch
from treering.views.tree.found import (
    NodeRanking,
    Retrieval,
    found_nodes,
    mixed_context,
    node_hits,
    node_rows,
)
from treering.views.tree.grow import Grower
from treering.views.tree.leaves import leaves_of_entry
from treering.views.tree.levels import Shape, shape
from treering.views.tree.node import TreeNode, examples, shown_nodes
from treering.views.tree.search import (
    TREE_ALPHA,
    Method,
    NodeSnapshot,
    TreeRelatives,
    TreeSearch,
    places,
    with_tree,
)
from treering.views.tree.settings import Claims, Form, Receiver, Route, Settings, Settling
from treering.views.tree.settle import SummarySettler
from treering.views.tree.shape import ROOT, Tree

NODES: Final = 10
"""Nodes for a context that is not told how many: MemTree's k for long documents (A.1.4)."""

Format = Literal["outline", "html", "json"]
FORMATS: Final = ("outline", "html", "json")


@dataclass(frozen=True, slots=True)
class TreeStats:
    """The shape of a tree, its pending summaries, the makers of its texts, and their cost."""

    shape: Shape
    pending: int
    made_by: dict[str, int]
    calls_per_leaf: float
    tokens_per_leaf: float


class TreeView:
    """A tree of summaries that grows with every entry. Safe to use from many threads."""

    def __init__(self, resources: Resources) -> None:
        self._space = resources.space
        self._embedder = resources.embedder
        self._llm = resources.llm
        self._searcher = resources.search
        self._defaults = resources.defaults
        self._grower = Grower(resources.space, resources.search.snapshot)
        self._search = TreeSearch()

    # ------------------------------------------------------------------ keeping it up to date

    def _grow(self, seconds: float | None = None) -> None:
        """Give every embedded text a leaf; the summaries above new leaves become pending work.

        With ``seconds``, stop soon after so long.
        """
        self._grower.grow(seconds)

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """Make all pending summaries, those of one path in parallel.

        The language model makes them if one is configured; else they are extractive. With
        ``upgrade`` the model also rewrites the extractive ones. Where the tree settles after each
        text, texts are inserted one by one. Raises LLMError and EmbeddingError; summaries that
        failed stay queued, and so do the texts after them. If another process makes summaries, it
        is waited for; what is left after a minute stays queued.
        """
        self._grow()
        aggregator = self._aggregator()
        if upgrade:
            self._queue_upgrade(aggregator)
        self._reembed()
        with self._space.task("summaries", SETTLE_PATIENCE_S) as is_ours:
            if is_ours:
                settler = SummarySettler(self._grower, self._embedder(), aggregator)
                settler.run(progress)
                if self.settings().settle == "each":
                    self._settle_each(settler, progress)

    def replant(
        self,
        *,
        base: float | None = None,
        rate: float | None = None,
        max_depth: int | None = None,
        form: Form | None = None,
        route: Route | None = None,
        receiver: Receiver | None = None,
        summary_tokens: int | None = None,
        deeper_tokens: int | None = None,
        chat_unit: ChatUnit | None = None,
        settle: Settling | None = None,
        claims: Claims | None = None,
    ) -> Settings:
        """Grow the whole tree again by other settings, which the space keeps.

        A setting that is None stays as it is. ``base``, ``rate``, ``max_depth`` and ``form`` are
        those of ``Threshold``: a lower base gives a deeper tree. The others are those of
        ``Settings``. All summaries become pending work; with ``settle="each"`` all texts do.
        Raises InputError.
        """
        given = {
            "base": base,
            "rate": rate,
            "max_depth": max_depth,
            "form": form,
            "route": route,
            "receiver": receiver,
            "summary_tokens": summary_tokens,
            "deeper_tokens": deeper_tokens,
            "chat_unit": chat_unit,
            "settle": settle,
            "claims": claims,
        }
        settings = self.settings().changed(given)
        self._grower.replant(settings)
        return settings

    # ------------------------------------------------------------------ looking at it

    def settings(self) -> Settings:
        """How the tree grows."""
        return self._grower.settings()

    def roots(self) -> list[TreeNode]:
        """The topmost nodes, in the order their first text arrived."""
        return self.children(ROOT)

    def children(self, number: int) -> list[TreeNode]:
        """The children of a node, in order of arrival. Raises UnknownName."""
        return self._shown(lambda tree: tree.children(number))

    def node(self, number: int) -> TreeNode:
        """One node. Raises UnknownName."""
        nodes = self._shown(lambda tree: [number] if number in tree and number != ROOT else [])
        if not nodes:
            raise UnknownNode(f"there is no node {number} in the tree")
        return nodes[0]

    def path(self, number: int) -> list[TreeNode]:
        """The summaries above a node, top first. Raises UnknownName."""
        return self._shown(lambda tree: list(tree.path(number)))

    def leaves(self, number: int) -> list[TreeNode]:
        """The original texts below a summary. Raises UnknownName."""
        return self._shown(lambda tree: list(tree.leaves(number)))

    def find(self, entry_id: str) -> list[TreeNode]:
        """The leaves that hold an entry's text, in its order. Raises UnknownName."""
        with self._grower.reading() as open_tree:
            if open_tree is None:
                raise UnknownEntry(f"no entry {entry_id!r}: the tree is empty")
            reader, state, tree = open_tree
            seq, _ = entries.find(reader, state.id, entry_id)
            numbers = leaves_of_entry(reader, state.id, seq)
            return shown_nodes(
                reader, state.id, tree, [number for number in numbers if number in tree]
            )

    def stats(self) -> TreeStats:
        """Figures of the tree, without any model."""
        with self._grower.reading() as open_tree:
            if open_tree is None:
                return TreeStats(Shape(0, 0, 0, 0, 0.0, ()), 0, {}, 0.0, 0.0)
            reader, state, tree = open_tree
            nodes = shown_nodes(reader, state.id, tree, [n for n in tree.walk() if n != ROOT])
            tokens = {node.number: estimate_tokens(node.text) for node in nodes if node.text}
            by_maker: dict[str, int] = {}
            for node in nodes:
                if node.made_by:
                    by_maker[node.made_by] = by_maker.get(node.made_by, 0) + 1
            costs = [cost for cost in ledger.spent(reader, state.id) if cost.operation == "tree"]
            count = max(tree.leaf_count, 1)
            spent = sum(cost.prompt_tokens + cost.completion_tokens for cost in costs)
            pending = work.counts(reader, state.id).get(store.SUMMARIES, 0)
            calls = sum(cost.calls for cost in costs)
            return TreeStats(shape(tree, tokens), pending, by_maker, calls / count, spent / count)

    def draw(self, form: Format = "outline", *, root: int = ROOT, title: str = "memory") -> str:
        """The tree, or a branch of it, as an outline, HTML page or JSON."""
        check_choice("form", form, FORMATS)
        branches = self._branches(root)
        if form == "html":
            return draw.page(branches, title)
        return draw.outline(branches) if form == "outline" else draw.as_json(branches)

    # ------------------------------------------------------------------ answering from it

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        method: Method = "related",
        least: float | None = None,
        alpha: float = TREE_ALPHA,
    ) -> list[TreeNode]:
        """The nodes, summaries and leaves alike, that answer a query best, best first.

        ``related`` scores all nodes by words, meaning and relations; ``alpha`` weighs the relation
        of relatives in the tree. ``collapsed`` is the paper's: all nodes by cosine, without those
        below ``least``. ``traversal`` takes the k most similar nodes at every level among the
        children of the last k, so it returns up to k nodes per level.
        """
        check_choice("method", method, ("related", *get_args(TreeMethod)))
        check_count("k", k)
        if least is not None:
            check_setting("least", least)
        is_related = method == "related"
        how = Retrieval("all", "traversal" if method == "traversal" else "collapsed", least)
        plan = with_tree(self._defaults(), self._relation(), alpha) if is_related else {}
        mode: Mode = "hybrid" if is_related else "dense"
        with self._ranked([query], Filter(), mode, plan) as ranked:
            if ranked is None:
                return []
            rows = node_rows(ranked, 0, k, how, placed=True)
            nodes = [int(ranked.wide.node[row]) for row in rows]
            shown = shown_nodes(ranked.reader, ranked.reader.id, ranked.tree, nodes)
            whys = [ranked.ranking.why(row, 0) for row in rows]
            return [
                replace(node, score=float(ranked.ranking.scores[row, 0]), why=why)
                if is_related
                else replace(node, score=why.cosine)
                for node, row, why in zip(shown, rows, whys, strict=True)
            ]

    def _settle_each(self, settler: SummarySettler, progress: Progress | None) -> None:
        """Insert text after text, each when the summaries above the last one are written."""
        waiting = self._grower.unplaced()
        while self._grower.grow_one():
            settler.run()
            if progress:
                progress(max(waiting - self._grower.unplaced(), 0), waiting)

    def _unplaced(self) -> int:
        """How many embedded texts have no leaf yet and get one when the tree is used."""
        return 0 if self.settings().settle == "each" else self._grower.unplaced()

    def _examples(self, numbers: Sequence[int]) -> dict[int, str]:
        """The beginning of a typical text below each node, by number."""
        with self._grower.reading() as open_tree:
            if open_tree is None:
                return {}
            reader, state, tree = open_tree
            return examples(reader, state.id, tree, [n for n in numbers if n in tree])

    def _is_used(self) -> bool:
        """Whether the tree must be kept up to date: it has been used, or its settings chosen."""
        return self._grower.is_used()

    def _relation(self) -> TreeRelatives:
        """The tree as a relation between fragments, for ``memory.search``."""
        self._grow()
        with self._grower.reading():
            return TreeRelatives(self._places, self._grower.revision())

    def _hits(
        self,
        queries: Sequence[str],
        k: int,
        condition: Filter,
        mode: Mode,
        plan: Plan,
        how: Retrieval,
    ) -> list[list[Hit]]:
        """As ``Memory.search_many`` for a level that has summaries."""
        check_count("k", k)
        with self._ranked(queries, condition, mode, plan) as ranking:
            if ranking is not None:
                return [node_hits(ranking, at, k, how) for at in range(len(queries))]
        if how.level == "all":
            return self._searcher.search(queries, k, condition, mode, plan)
        return [[] for _ in queries]

    def _context(
        self,
        query: str,
        condition: Filter,
        mode: Mode,
        plan: Plan,
        budget: int,
        count_tokens: CountTokens,
        least: float = 0.0,
    ) -> Context:
        """As ``Memory.context`` with ``altitude="mixed"``."""
        with self._ranked([query], condition, mode, plan) as ranking:
            mixed = ranking and mixed_context(ranking, query, budget, count_tokens, least)
        if mixed:
            return mixed
        return self._searcher.context(query, condition, mode, plan, budget, count_tokens, least)

    def _nodes(
        self,
        query: str,
        condition: Filter,
        mode: Mode,
        plan: Plan,
        budget: int,
        count_tokens: CountTokens,
        least: float,
        layout: Layout,
        how: Retrieval,
    ) -> Context:
        """As ``Memory.context`` for a level that has summaries."""
        with self._ranked([query], condition, mode, plan) as ranking:
            found = [] if ranking is None else found_nodes(ranking, 0, layout.k or NODES, how)
        texts = [text for node in found for text in node]
        surest = max((text.hit.confidence for text in texts), default=None) if least else None
        sure = [text for text in texts if text.hit.confidence >= least]
        layout = replace(layout, k=None)  # a traversal finds as many at each level
        return replace(assemble_whole(query, sure, layout, budget, count_tokens), surest=surest)

    # ------------------------------------------------------------------ inside

    def _aggregator(self) -> Aggregator:
        try:
            return LLMAggregator(self._llm())
        except LLMNotConfigured:
            return ExtractiveAggregator(estimate_tokens)

    def _queue_upgrade(self, aggregator: Aggregator) -> None:
        if aggregator.made_by == EXTRACTIVE:
            raise LLMNotConfigured(
                "there is no language model to rewrite extractive summaries with; configure one",
                hint=Hint.SETTLE_ONLY,
            )
        with self._grower.writing() as open_tree:
            if open_tree is not None:
                writer, state, _ = open_tree
                store.queue_upgrade(writer, state.id, EXTRACTIVE)

    def _reembed(self) -> None:
        """Embed the summaries' texts again after the space has changed its embedding model."""
        with self._grower.reading() as open_tree:
            if open_tree is None:
                return
            reader, state, _ = open_tree
            model = state.model
            assert model is not None  # checked by reading()
            stale = store.texts_of_others(reader, state.id, model)
        if not stale or model.name != self._embedder().name:
            return
        vectors = checked(self._embedder(), [text for _, text in stale])
        with self._grower.writing() as writing:
            if writing is None or writing[1].model != model:
                return
            writer, state, tree = writing
            for (number, text), vector in zip(stale, vectors, strict=True):
                store.save_vector(writer, state.id, number, text, model, vector)
            self._grower.commit(writer, state.id, tree)

    def _places(self, fragment: Codes) -> tuple[Codes, Codes]:
        with self._grower.reading() as open_tree:
            if open_tree is None:
                nowhere = np.full(len(fragment), MISSING, dtype=np.int64)
                return np.zeros(0, dtype=np.int64), nowhere
            reader, state, tree = open_tree
            return places(reader, state.id, tree, fragment)

    @contextmanager
    def _ranked(
        self, queries: Sequence[str], condition: Filter, mode: Mode, plan: Plan
    ) -> Iterator[NodeRanking | None]:
        """Texts and summaries ranked, and the rows that meet a filter; None if there is no tree."""
        check_queries(queries)
        vectors = self._searcher.embedded(queries, mode)
        with self._grower.reading() as open_tree:
            wide = self._wide(open_tree)
            if open_tree is None or wide is None or not queries:
                yield None
                return
            reader, _, tree = open_tree
            self._searcher.ensure_same(wide.snapshot, vectors)
            now = condition.as_of
            ranking = self._search.rank(wide, queries, vectors, plan, mode, now)
            fragments = allowed_rows(reader, wide.fragments, condition)
            reader.as_of = known_until(condition)
            allowed = wide.meeting(fragments)
            yield NodeRanking(self._searcher, reader, tree, wide, ranking, fragments, allowed)

    def _wide(self, open_tree: tuple[SpaceReader, SpaceState, Tree] | None) -> NodeSnapshot | None:
        base = self._searcher.snapshot()
        if open_tree is None or base is None or not len(base):
            return None
        reader, state, tree = open_tree
        return self._search.wide(reader, state.id, tree, self._grower.revision(), base)

    def _shown(self, choose: Callable[[Tree], Sequence[int]]) -> list[TreeNode]:
        with self._grower.reading() as open_tree:
            if open_tree is None:
                return []
            reader, state, tree = open_tree
            return shown_nodes(reader, state.id, tree, choose(tree))

    def _branches(self, root: int) -> list[Branch]:
        with self._grower.reading() as open_tree:
            if open_tree is None:
                return []
            reader, state, tree = open_tree
            below = list(tree.walk(root))
            numbers = [number for number in below if number != ROOT]
            branches: dict[int, Branch] = {}
            for node in reversed(shown_nodes(reader, state.id, tree, numbers)):
                children = tuple(branches.pop(child) for child in tree.children(node.number))
                branches[node.number] = _branch(node, children)
            tops = tree.children(ROOT) if root == ROOT else [root]
            return [branches[top] for top in tops]


def _branch(node: TreeNode, children: tuple[Branch, ...]) -> Branch:
    title = node.source if node.leaf else (node.made_by or "not made yet")
    return Branch(
        node.number, node.text, title or "", node.leaf, children, node.repeats, node.pending
    )
