"""``memory.tree``: the tree of summaries over one space, which grows when it is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar, Final

from treering.arrays import Codes
from treering.embed.contract import unit_vectors
from treering.errors import LLMNotConfigured, UnknownNode
from treering.hints import Hint
from treering.journal import entries, work
from treering.journal.space import SpaceReader, SpaceWriter
from treering.records import Context, Hit, Progress
from treering.search.context import CountTokens, Layout, assemble_whole
from treering.search.searcher import (
    Search,
    check_count,
    known_until,
)
from treering.search.snapshot import allowed_rows
from treering.views.choices import SpaceSettings
from treering.views.contract import Erased, Resources, Trace, View
from treering.views.follow import SETTLE_PATIENCE_S
from treering.views.settings import settings_in
from treering.views.tree import store
from treering.views.tree.aggregate import EXTRACTIVE, Aggregator
from treering.views.tree.grow import Grower, count_unplaced
from treering.views.tree.hits import NodeRanking, found_nodes
from treering.views.tree.leaves import leaves_of_entry
from treering.views.tree.node import TreeNode, TreeStats, examples, outline, shown_nodes
from treering.views.tree.search import TreeRelatives, TreeSearch, places
from treering.views.tree.settle import SummarySettler
from treering.views.tree.shape import ROOT, Tree
from treering.views.tree.texts import beside

NODES: Final = 10
"""Nodes of a context without ``k``: MemTree's for long documents (A.1.4)."""


class TreeView:
    """A tree of summaries that grows with every entry. Safe to use from many threads."""

    def __init__(self, resources: Resources) -> None:
        self._space = resources.space
        self._embedder = resources.embedder
        self._llm = resources.llm
        self._searcher = resources.search
        self._grower = Grower(resources.space, resources.search.snapshot)
        self._search = TreeSearch()

    # ------------------------------------------------------------------ keeping it up to date

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """Make all pending summaries, those of one path in parallel.

        The language model makes them if one is configured; else they are extractive. With
        ``upgrade`` the model also rewrites the extractive ones. Where the tree settles after each
        text, texts are inserted one by one. Raises LLMError and EmbeddingError; summaries that
        failed stay queued, and so do the texts after them. If another process makes summaries, it
        is waited for; what is left after a minute stays queued.
        """
        self._grower.grow()
        aggregator = self._aggregator()
        if upgrade:
            self._queue_upgrade(aggregator)
        self._reembed()
        with self._space.task("summaries", SETTLE_PATIENCE_S) as is_ours:
            if is_ours:
                settler = SummarySettler(self._grower, self._embedder(), aggregator)
                settler.run(progress)
                if self._grower.settings().tree_settle == "each":
                    self._settle_each(settler, progress)

    # ------------------------------------------------------------------ looking at it

    def roots(self) -> list[TreeNode]:
        """The topmost nodes, in the order their first text arrived."""
        return self.children(ROOT)

    def children(self, number: int) -> list[TreeNode]:
        """The children of a node, in order of arrival. Raises UnknownName."""
        return self._show(lambda tree: tree.children(number))

    def node(self, number: int) -> TreeNode:
        """One node. Raises UnknownName."""
        nodes = self._show(lambda tree: [number] if number in tree and number != ROOT else [])
        if not nodes:
            raise UnknownNode(f"no node {number} in the tree")
        return nodes[0]

    def path(self, number: int) -> list[TreeNode]:
        """The summaries above a node, top first. Raises UnknownName."""
        return self._show(lambda tree: list(tree.path(number)))

    def leaves(self, number: int) -> list[TreeNode]:
        """The original texts below a summary. Raises UnknownName."""
        return self._show(lambda tree: list(tree.leaves(number)))

    def find(self, entry_id: str) -> list[TreeNode]:
        """The leaves that hold an entry's text, in its order. Raises UnknownName."""
        with self._grower.read() as (reader, tree):
            seq, _ = entries.find(reader, reader.space, entry_id)
            numbers = [n for n in leaves_of_entry(reader, seq) if n in tree]
            return shown_nodes(reader, tree, numbers)

    def nodes(self, root: int = ROOT) -> list[TreeNode]:
        """All nodes of the tree, or of a branch, each before its children. Raises UnknownName."""
        return self._show(lambda tree: [node for node in tree.walk(root) if node != ROOT])

    def stats(self) -> TreeStats:
        """Figures of the tree, without any model."""
        with self._grower.read() as (reader, tree):
            summaries = store.summaries(reader, tree.summaries()).values()
            return TreeStats(
                nodes=len(tree),
                leaves=tree.leaf_count,
                topics=len(tree.children(ROOT)),
                max_depth=tree.deepest(),
                pending=work.counts(reader, reader.space).get(store.SUMMARIES, 0),
                made_by=dict(Counter(one.made_by for one in summaries if one.made_by)),
            )

    def draw(self, root: int = ROOT) -> str:
        """The tree, or a branch of it, as an indented outline."""
        return outline(self.nodes(root))

    # ------------------------------------------------------------------ answering from it

    def _settle_each(self, settler: SummarySettler, progress: Progress | None) -> None:
        """Insert text after text, each when the summaries above the last one are written."""
        waiting = self._grower.count_unplaced()
        while self._grower.grow_one():
            settler.run()
            if progress:
                progress(max(waiting - self._grower.count_unplaced(), 0), waiting)

    def _examples(self, numbers: Sequence[int]) -> dict[int, str]:
        """The beginning of a typical text below each node, by number."""
        with self._grower.read() as (reader, tree):
            return examples(reader, tree, [n for n in numbers if n in tree])

    def _relation(self) -> TreeRelatives:
        """The tree as a relation between fragments, for ``memory.search``."""
        self._grower.grow()
        with self._grower.read():
            return TreeRelatives(self._places, self._grower.revision())

    def _hits(self, search: Search, k: int, how: SpaceSettings) -> list[Hit]:
        """As ``Memory.search`` for a level that has summaries."""
        check_count("k", k)
        with self._rank(search) as ranking:
            if ranking is not None:
                return [text.hit for texts in found_nodes(ranking, k, how) for text in texts]
        return self._searcher.search(search, k) if how.level == "all" else []

    def _nodes(
        self,
        search: Search,
        budget: int,
        count_tokens: CountTokens,
        least: float,
        layout: Layout,
        how: SpaceSettings,
    ) -> Context:
        """As ``Memory.context`` for a level that has summaries."""
        with self._rank(search) as ranking:
            found = [] if ranking is None else found_nodes(ranking, layout.k or NODES, how)
        texts = [text for node in found for text in node]
        surest = max((text.hit.confidence for text in texts), default=None) if least else None
        sure = [text for text in texts if text.hit.confidence >= least]
        layout = replace(layout, k=None)  # a traversal finds as many at each level
        return replace(
            assemble_whole(search.query, sure, layout, budget, count_tokens), surest=surest
        )

    # ------------------------------------------------------------------ inside

    def _aggregator(self) -> Aggregator:
        try:
            return Aggregator(self._llm())
        except LLMNotConfigured:
            return Aggregator(None)

    def _queue_upgrade(self, aggregator: Aggregator) -> None:
        if aggregator.llm is None:
            raise LLMNotConfigured(
                "rewriting extractive summaries needs a language model",
                hint=Hint.SETTLE_ONLY,
            )
        with self._grower.write() as (writer, _):
            store.queue_upgrade(writer, EXTRACTIVE)

    def _reembed(self) -> None:
        """Embed the summaries' texts again after the space has changed its embedding model."""
        with self._grower.read() as (reader, _):
            model = reader.model
            stale = store.texts_of_others(reader, model) if model else []
        if model is None or not stale or model.name != self._embedder().name:
            return
        vectors = unit_vectors(self._embedder(), [text for _, text in stale])
        with self._grower.write() as (writer, tree):
            if writer.model != model:
                return
            for (number, text), vector in zip(stale, vectors, strict=True):
                store.save_vector(writer, number, text, model, vector)
            self._grower.commit(writer, tree)

    def _places(self, fragment: Codes) -> tuple[Codes, Codes]:
        with self._grower.read() as (reader, tree):
            return places(reader, tree, fragment)

    @contextmanager
    def _rank(self, search: Search) -> Iterator[NodeRanking | None]:
        """Texts and summaries ranked, and the rows that meet a filter; None without a tree."""
        vectors = self._searcher.embed_queries([search.query], search.mode)
        search = replace(search, vector=None if vectors is None else vectors[0])
        with self._grower.read() as (reader, tree):
            base = self._searcher.snapshot()
            if reader.model is None or base is None or not len(base):
                yield None
                return
            is_grouped = tree.settings.chat_unit == "rounds"
            rounds = self._searcher.rounds.group(reader, base) if is_grouped else None
            wide = self._search.wide(reader, tree, self._grower.revision(), base, rounds)
            self._searcher.ensure_same(wide.snapshot, search.vector)
            ranking = self._search.rank(wide, search)
            fragments = allowed_rows(reader, wide.fragments, search.condition)
            reader.as_of = known_until(search.condition)
            allowed = wide.rows_that_meet(fragments)
            yield NodeRanking(self._searcher, reader, tree, wide, ranking, fragments, allowed)

    def _show(self, choose: Callable[[Tree], Sequence[int]]) -> list[TreeNode]:
        with self._grower.read() as (reader, tree):
            return shown_nodes(reader, tree, choose(tree))


class Summaries(View):
    """Summaries of fragments, and of summaries: the nodes of the tree."""

    name: ClassVar[str] = "tree"
    relation_name: ClassVar[str | None] = "tree"
    kinds: ClassVar[tuple[str, ...]] = ("summaries",)
    traces: ClassVar[tuple[Trace, ...]] = (Trace("leaf"),)

    def __init__(
        self, tree: TreeView, grown: Callable[[], TreeView], has_llm: Callable[[], bool]
    ) -> None:
        self._tree = tree
        self._grown = grown
        self._has_llm = has_llm

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """See ``View``. A tree that was never used or chosen costs nothing."""
        if self._tree._grower.is_used():
            self._tree.settle(progress, upgrade=upgrade)

    def pending(self, reader: SpaceReader) -> Mapping[str, int]:
        """The numbers of summaries to make, of leaves to remove and of texts to place.

        Texts count only where ``settle`` places them: elsewhere each use of the tree does.
        """
        counts = work.counts(reader, reader.id)
        kinds = (store.SUMMARIES, store.ERASED, store.LOOSE)
        places = settings_in(reader).tree_settle == "each"
        return {
            **{kind: counts.get(kind, 0) for kind in kinds},
            store.UNPLACED: count_unplaced(reader) if places else 0,
        }

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """See ``View``."""
        if settings_in(writer).chat_unit == "rounds":
            work.enqueue(writer, writer.id, store.LOOSE, beside(writer, seqs))
        return Erased({"summaries": store.erase(writer, seqs)})

    def begin_rebuild(self, writer: SpaceWriter) -> None:
        """Drop the tree; it grows again by the settings of the space.

        Raises LLMNotConfigured if a model made summaries and none is configured to repeat that.
        """
        if store.count_written(writer, EXTRACTIVE) and not self._has_llm():
            raise LLMNotConfigured(
                "summaries that a language model made can only be made again by one; configure "
                "one, see `treering doctor`"
            )
        store.fell(writer)

    def finish_rebuild(self, progress: Progress | None = None) -> None:
        """See ``View``. A tree that was never used is not grown."""
        if self._tree._grower.is_used():
            self._tree.settle(progress)

    def relation(self) -> TreeRelatives:
        """See ``View``."""
        return self._grown()._relation()
