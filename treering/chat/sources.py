"""What a policy draws on, read from a memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import islice

from treering.chat.policy import Evidence
from treering.fragments.build import embedded_text
from treering.recall.context import Candidate, CountTokens, assemble
from treering.recall.search import Searcher
from treering.records import Context, Filter, Hit
from treering.relate.registry import Plan
from treering.tree.search import with_tree
from treering.tree.view import TreeView


class MemorySources:
    """The views of one space, counted as the model counts; the entries ``hidden`` never show."""

    def __init__(
        self,
        searcher: Searcher,
        plan: Callable[[], Plan],
        tree: Callable[[], TreeView],
        count: CountTokens,
        hidden: frozenset[str],
    ) -> None:
        self._searcher = searcher
        self._plan = plan
        self._tree = tree
        self._count = count
        self._hidden = hidden

    def passages(self, query: str, budget: int, without: frozenset[str]) -> Context:
        """See ``Sources``."""
        with closing(self._candidates(query, without)) as found:  # it reads within a transaction
            return assemble(query, found, budget, self._count)

    def hits(self, query: str, k: int, without: frozenset[str]) -> Sequence[Hit]:
        """See ``Sources``."""
        with closing(self._candidates(query, without)) as found:
            return [candidate.hit for candidate in islice(found, k)]

    def nodes(self, query: str, budget: int) -> Sequence[Evidence]:
        """See ``Sources``."""
        tree = self._tree()
        plan = with_tree(self._plan(), tree.relation())
        condition = Filter(omit=self._hidden)
        shown = tree.context(query, condition, "hybrid", plan, budget, self._count)
        return [_evidence(hit, tree) for passage in shown.passages for hit in passage.hits]

    def _candidates(self, query: str, without: frozenset[str]) -> Generator[Candidate, None, None]:
        condition = Filter(omit=without | self._hidden)
        return self._searcher.candidates(query, condition, "hybrid", self._plan())


def _evidence(hit: Hit, tree: TreeView) -> Evidence:
    if hit.node is None:
        return Evidence(f"{hit.source}\n{embedded_text(hit.text, hit.speaker)}", (hit.entry_id,))
    leaves = (leaf.entry_id for leaf in tree.leaves(hit.node))
    below = tuple(dict.fromkeys(entry for entry in leaves if entry))
    return Evidence(f"Summary of {hit.summary_of} texts: {hit.text}", below, whole=False)
