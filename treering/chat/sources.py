"""What a policy draws on, read from a memory."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from itertools import islice

from treering.chat.exchange import exchanges
from treering.chat.policy import Evidence, Exchange, origin
from treering.facts import store as facts
from treering.fragments import store
from treering.journal.contract import Database
from treering.memo.choose import related
from treering.memo.record import Evidence as MemoEvidence
from treering.memo.record import Memo
from treering.recall.context import Candidate, CountTokens, assemble, shown, since
from treering.records import Context, Filter, Hit, Newer
from treering.tree.view import TreeView
from treering.views import Views

MEMOS = 8  # that are looked at; their summaries are shown where their lines are not


class MemorySources:
    """The views of one space for one prompt, counted as the model counts.

    The entries ``hidden`` never show.
    """

    def __init__(
        self,
        database: Database,
        space: str,
        views: Views,
        count: CountTokens,
        hidden: frozenset[str],
    ) -> None:
        self._database = database
        self._space = space
        self._views = views
        self._count = count
        self._hidden = hidden
        self._chosen: dict[str, tuple[MemoEvidence, ...]] = {}

    def passages(self, query: str, budget: int, without: frozenset[str]) -> Context:
        """See ``Sources``."""
        with closing(self._candidates(query, without)) as found:  # it reads within a transaction
            return assemble(query, found, budget, self._count)

    def exchanges(self, query: str, k: int, without: frozenset[str]) -> Sequence[Exchange]:
        """See ``Sources``."""
        with closing(self._candidates(query, without)) as found:
            hits = [candidate.hit for candidate in islice(found, k)]
        with self._database.read() as reader:
            state = store.state(reader, self._space)
            return exchanges(reader, state.space, hits, without | self._hidden) if state else []

    def nodes(self, query: str, budget: int) -> Sequence[Evidence]:
        """See ``Sources``."""
        tree = self._views.tree
        plan = self._views.plan(None, None, tree=True)
        condition = Filter(omit=self._hidden)
        found = tree.context(query, condition, "hybrid", plan, budget, self._count)
        return [_evidence(hit, tree) for passage in found.passages for hit in passage.hits]

    def memos(self, query: str) -> Sequence[Evidence]:
        """See ``Sources``."""
        view = self._views.memos
        pinned = [memo for memo in view.list() if memo.pinned]
        found = dict.fromkeys((*pinned, *related(view.search(query, k=MEMOS))))
        with self._database.read() as reader:
            state = store.state(reader, self._space)
            newer = facts.newer_by_id(reader, state.space) if state else {}
        return [_told(memo, newer) for memo in found if memo.stated]

    def chosen(self, query: str) -> Sequence[MemoEvidence]:
        """See ``Sources``."""
        if query not in self._chosen:  # a prompt that must be made smaller asks again
            self._chosen[query] = self._views.memos.choose(query).evidences
        return self._chosen[query]

    def written(self, source: str) -> frozenset[str]:
        """See ``Sources``."""
        memos = self._views.memos.list(source=source)
        return frozenset(entry for memo in memos for entry in memo.entry_ids)

    def _candidates(self, query: str, without: frozenset[str]) -> Generator[Candidate, None, None]:
        condition = Filter(omit=without | self._hidden)
        plan = self._views.defaults()
        return self._views.searcher.candidates(query, condition, "hybrid", plan)


def _evidence(hit: Hit, tree: TreeView) -> Evidence:
    if hit.node is None:
        return Evidence(f"{hit.source}\n{shown(hit)}", (hit.entry_id,))
    leaves = (leaf.entry_id for leaf in tree.leaves(hit.node))
    below = tuple(dict.fromkeys(entry for entry in leaves if entry))
    return Evidence(f"Summary of {hit.summary_of} texts: {hit.text}", brief=below)


def _told(memo: Memo, newer: Mapping[str, Newer]) -> Evidence:
    """What a memo says, and whether something it stands for does not hold any more."""
    against = [newer[entry] for entry in memo.entry_ids if entry in newer]
    stale = (
        f" ({since('possibly out of date', against[-1])}: {against[-1].text})" if against else ""
    )
    text = f"{origin(memo.source, memo.at)}, memo\n{memo.topic}: {memo.stated}{stale}"
    return Evidence(text, brief=memo.entry_ids)
