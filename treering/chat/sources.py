"""The sources of a policy, read from the views of a memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treering.chat.policy import Evidence, Exchange, entries_of, origin
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.records import Context, Entry, Filter, Hit, Passage
from treering.search.context import CountTokens, mark_of_summary, show_hit
from treering.search.marks import Mark, Marker, Quote
from treering.search.searcher import by_words_if_down
from treering.sharing import AskedSpaces
from treering.views.memos.choose import related_memos
from treering.views.memos.record import MemoEvidence
from treering.views.registry import Views
from treering.views.tree.view import TreeView

MEMOS = 8  # candidates; their summaries are shown where their lines are not
MAX_MESSAGES = 4  # of a round: the user's, the model's, and tool messages between them


class MemorySources:
    """The views of one space for one prompt; tokens are counted as the model counts them.

    Entries in ``hidden`` are never shown. Passages and exchanges are those of the spaces ``asked``.
    """

    def __init__(
        self,
        views: Views,
        asked: AskedSpaces,
        count: CountTokens,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self._asked = asked
        self._views = views
        self._count = count
        self._settings = asked.settings
        self._hidden = hidden
        self._chosen: dict[str, tuple[MemoEvidence, ...]] = {}

    def passages(self, query: str, budget: int, without: frozenset[str]) -> Context:
        """See ``Sources``."""
        return self._context(query, budget, without, self._asked)

    def _context(
        self, query: str, budget: int, without: frozenset[str], asked: AskedSpaces
    ) -> Context:
        condition, cites = Filter(omit=without | self._hidden), self._settings.prompt == "own"
        return by_words_if_down(
            lambda mode: asked.context(query, condition, mode, budget, self._count, cites=cites),
            self._settings.mode,
        )

    def exchanges(self, query: str, k: int, without: frozenset[str]) -> Sequence[Exchange]:
        """See ``Sources``."""
        condition = Filter(omit=without | self._hidden)
        hits = by_words_if_down(
            lambda mode: self._asked.best(query, k, condition, mode), self._settings.mode
        )
        ranked: list[Exchange] = []
        for views in self._asked.views:
            of_space = [hit for hit in hits if hit.space == views.space.name]
            with views.space.read() as reader:
                marks = views.marking.marks
                ranked += exchanges(reader, of_space, without | self._hidden, marks)
        return sorted(ranked, key=lambda one: -one.score) if len(self._asked.views) > 1 else ranked

    def nodes(self, query: str, budget: int) -> Sequence[Evidence]:
        """See ``Sources``."""
        settings, tree = self._settings, self._views.tree
        if settings.level == "texts":
            settings = replace(settings, level="all")
        own = AskedSpaces.of_one(self._views, settings)
        context = self._context(query, budget, frozenset(), own)
        if settings.prompt != "own":
            return [self._plain(passage, tree) for passage in context.passages]
        hits = [hit for passage in context.passages for hit in passage.hits]
        return [self._evidence(hit, tree) for hit in hits]

    def memos(self, query: str) -> Sequence[Evidence]:
        """See ``Sources``."""
        view = self._views.memos
        hits = by_words_if_down(lambda mode: view.search(query, k=MEMOS, mode=mode))
        memos = dict.fromkeys(
            (*(memo for memo in view.list() if memo.pinned), *related_memos(hits))
        )
        return [
            Evidence(
                f"{origin(memo.source, memo.at)}, memo\n{memo.topic}: {memo.stated}"
                f"{self._warning(memo.entry_ids)}",
                brief=memo.entry_ids,
            )
            for memo in memos
            if memo.stated
        ]

    def choose_memos(self, query: str) -> Sequence[MemoEvidence]:
        """See ``Sources``."""
        if query not in self._chosen:  # building a smaller prompt asks again
            self._chosen[query] = self._views.memos.choose(query).evidences
        return self._chosen[query]

    def written_lines(self, source: str) -> frozenset[str]:
        """See ``Sources``."""
        memos = self._views.memos.list(source=source)
        return frozenset(line for memo in memos for line in memo.entry_ids)

    def _evidence(self, hit: Hit, tree: TreeView) -> Evidence:
        if hit.node is None:
            return Evidence(f"{hit.source}\n{show_hit(hit)}", (hit.entry_id,))
        below = _below(tree, hit.node)
        text = f"Summary of {hit.summary_of} texts: {hit.text}{self._warning(below)}"
        return Evidence(text, brief=below)

    def _plain(self, passage: Passage, tree: TreeView) -> Evidence:
        """A passage without its origin, as printed prompts show it."""
        node = passage.hits[0].node
        if node is None:
            return Evidence(passage.text, entries_of(passage))
        below = _below(tree, node)
        return Evidence(f"{passage.text}{self._warning(below)}", brief=below)

    def _warning(self, below: Sequence[str]) -> str:
        """A warning if entries of a summary do not hold any more."""
        with self._views.space.read() as reader:
            entry_by_seq = entries.by_seq(reader, entries.seqs_of(reader, reader.id, below))
            quotes = [Quote.whole(seq, entry) for seq, entry in entry_by_seq.items()]
            return mark_of_summary(self._views.marking.marks(reader, quotes))


def _below(tree: TreeView, node: int) -> tuple[str, ...]:
    """The ids of the entries that a summary stands for."""
    return tuple(dict.fromkeys(entry for leaf in tree.leaves(node) for entry in leaf.entry_ids))


def exchanges(
    reader: SpaceReader, hits: Sequence[Hit], without: frozenset[str], marks: Marker
) -> list[Exchange]:
    """The exchanges of hits, best first, without the messages of ``without``.

    A text has no exchanges, nor has a chat whose messages have no roles: each hit is one there.
    """
    members: dict[str, Exchange] = {}
    by_key: dict[tuple[str, int], Exchange] = {}
    for hit in hits:
        before = members.get(hit.entry_id) if hit.role else None
        if before is None:
            before = Exchange(_messages(reader, hit, without, marks), 0.0)
            members |= dict.fromkeys(before.entries, before)
        # Scores below the mean must not pull down an exchange that another of its hits lifted.
        score = by_key[before.key].score if before.key in by_key else 0.0
        by_key[before.key] = replace(before, score=score + max(hit.score, 0.0))
    return _newer_first(sorted(by_key.values(), key=lambda exchange: -exchange.score))


def _messages(
    reader: SpaceReader, hit: Hit, without: frozenset[str], marks: Marker
) -> tuple[Hit, ...]:
    if not hit.role:
        return (hit,)
    seqs = entries.exchange(reader, reader.id, hit.source, hit.position, MAX_MESSAGES)
    quotes = [
        Quote.whole(seq, entry)
        for seq, entry in sorted(entries.by_seq(reader, seqs).items())
        if entry.id not in without
    ]
    whole = tuple(
        _whole(quote.entry, hit, mark)
        for quote, mark in zip(quotes, marks(reader, quotes), strict=True)
    )
    return whole if any(message.entry_id == hit.entry_id for message in whole) else (hit,)


def _whole(entry: Entry, hit: Hit, mark: Mark) -> Hit:
    """An entry of the round of a hit, as a hit."""
    return replace(
        hit,
        text=entry.text,
        entry_id=entry.id,
        position=entry.position,
        start=0,
        end=len(entry.text),
        at=entry.at,
        speaker=entry.speaker,
        role=entry.role,
        session=entry.session,
        metadata=entry.metadata,
        superseded_by=mark.superseded_by,
        stale=mark.stale,
    )


def _newer_first(ranked: Sequence[Exchange]) -> list[Exchange]:
    """Each exchange after those that supersede its statements; these score at least as much."""
    home = {entry: exchange for exchange in ranked for entry in exchange.entries}
    ordered: dict[tuple[str, int], Exchange] = {}
    for exchange in ranked:
        for hit in exchange.hits:
            if hit.superseded_by and hit.superseded_by.entry_id in home:
                first = home[hit.superseded_by.entry_id]
                ordered.setdefault(
                    first.key, replace(first, score=max(first.score, exchange.score))
                )
        ordered.setdefault(exchange.key, exchange)
    return list(ordered.values())
