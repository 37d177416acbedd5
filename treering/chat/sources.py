"""The sources of a policy, read from the views of a memory."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import islice

from treering.chat.exchange import exchanges
from treering.chat.policy import Evidence, Exchange, entries_of, origin
from treering.journal import entries
from treering.journal.space import Space
from treering.records import Altitude, Context, Filter, Hit, Mode, Passage
from treering.search.context import Candidate, CountTokens, outdated, shown
from treering.search.marks import Quote
from treering.search.searcher import by_words_if_down
from treering.views.memos.choose import related_memos
from treering.views.memos.record import Memo, MemoEvidence
from treering.views.registry import Views
from treering.views.settings import SpaceSettings
from treering.views.tree.view import TreeView

MEMOS = 8  # that are looked at; their summaries are shown where their lines are not


class MemorySources:
    """The views of one space for one prompt; tokens are counted as the model counts them.

    Entries in ``hidden`` are never shown.
    """

    def __init__(
        self,
        space: Space,
        views: Views,
        count: CountTokens,
        settings: SpaceSettings,
        hidden: frozenset[str],
    ) -> None:
        self._space = space
        self._views = views
        self._count = count
        self._settings = settings
        self._hidden = hidden
        self._chosen: dict[str, tuple[MemoEvidence, ...]] = {}

    def passages(self, query: str, budget: int, without: frozenset[str]) -> Context:
        """See ``Sources``."""

        settings = self._settings
        plan = self._views.planner.plan(None, None, tree=settings.level != "texts")
        condition = Filter(omit=without | self._hidden)
        cites = settings.prompt == "own"

        def assembled(mode: Mode) -> Context:
            asked = (query, condition, mode, plan, settings, budget, self._count)
            return self._views.context(*asked, cites=cites)

        return by_words_if_down(assembled, settings.mode)

    def exchanges(self, query: str, k: int, without: frozenset[str]) -> Sequence[Exchange]:
        """See ``Sources``."""

        def best(mode: Mode) -> list[Hit]:
            with closing(self._candidates(query, without, mode)) as candidates:
                return [candidate.hit for candidate in islice(candidates, k)]

        hits = by_words_if_down(best, self._settings.mode)
        with self._space.read() as reader:
            return exchanges(reader, hits, without | self._hidden, self._views.marking.marks)

    def nodes(self, query: str, budget: int) -> Sequence[Evidence]:
        """See ``Sources``."""
        tree = self._views.tree
        plan = self._views.planner.plan(None, None, tree=True)
        asked = (self._settings, budget, self._count)
        altitude: Altitude | None = "mixed" if self._settings.level == "texts" else None
        cites = self._settings.prompt == "own"
        context = by_words_if_down(
            lambda mode: self._views.context(
                query, Filter(omit=self._hidden), mode, plan, *asked, altitude=altitude, cites=cites
            ),
            self._settings.mode,
        )
        if not cites:
            return [self._plain(passage, tree) for passage in context.passages]
        hits = [hit for passage in context.passages for hit in passage.hits]
        return [self._evidence(hit, tree) for hit in hits]

    def memos(self, query: str) -> Sequence[Evidence]:
        """See ``Sources``."""
        view = self._views.memos
        hits = by_words_if_down(lambda mode: view.search(query, k=MEMOS, mode=mode))
        memos = dict.fromkeys((*view.pinned(), *related_memos(hits)))
        return [self._memo_evidence(memo) for memo in memos if memo.stated]

    def chosen(self, query: str) -> Sequence[MemoEvidence]:
        """See ``Sources``."""
        if query not in self._chosen:  # a prompt that must be made smaller asks again
            self._chosen[query] = self._views.memos.choose(query).evidences
        return self._chosen[query]

    def written(self, source: str) -> frozenset[str]:
        """See ``Sources``."""
        return self._views.memos.written(source)

    def _evidence(self, hit: Hit, tree: TreeView) -> Evidence:
        if hit.node is None:
            return Evidence(f"{hit.source}\n{shown(hit)}", (hit.entry_id,))
        below = _below(tree, hit.node)
        text = f"Summary of {hit.summary_of} texts: {hit.text}{self._outdated(below)}"
        return Evidence(text, brief=below)

    def _plain(self, passage: Passage, tree: TreeView) -> Evidence:
        """A passage without its origin, as printed prompts show it."""
        node = passage.hits[0].node
        if node is None:
            return Evidence(passage.text, entries_of(passage))
        below = _below(tree, node)
        return Evidence(f"{passage.text}{self._outdated(below)}", brief=below)

    def _memo_evidence(self, memo: Memo) -> Evidence:
        """A memo's topic and summary, with a warning if an entry it stands for is superseded."""
        doubt = self._outdated(memo.entry_ids)
        text = f"{origin(memo.source, memo.at)}, memo\n{memo.topic}: {memo.stated}{doubt}"
        return Evidence(text, brief=memo.entry_ids)

    def _outdated(self, below: Sequence[str]) -> str:
        """What is known against the summary of some entries."""
        with self._space.read() as reader:
            entry_by_seq = entries.by_seq(reader, entries.seqs_of(reader, reader.id, below))
            quotes = [Quote.whole(seq, entry) for seq, entry in entry_by_seq.items()]
            return outdated(self._views.marking.marks(reader, quotes))

    def _candidates(
        self, query: str, without: frozenset[str], mode: Mode
    ) -> Generator[Candidate, None, None]:
        """The best fragments; they are read within a transaction, so the generator is closed."""
        condition = Filter(omit=without | self._hidden)
        plan = self._views.planner.defaults()
        return self._views.searcher.candidates(
            query, condition, mode, plan, self._settings.chat_unit
        )


def _below(tree: TreeView, node: int) -> tuple[str, ...]:
    """The ids of the entries that a summary stands for."""
    return tuple(dict.fromkeys(entry for leaf in tree.leaves(node) for entry in leaf.entry_ids))
