"""Searching memos: they are ranked in one space with the lines they stand for.

A memo's base score comes from its topic and summary. The topic relation adds the scores of its
lines, so that queries find a memo by its lines, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treering.arrays import Codes, Floats
from treering.errors import InputError
from treering.journal.contract import Reader
from treering.journal.space import EmbeddingModel
from treering.search.pipeline import rank
from treering.search.relations.contract import MISSING, Items, Relations, Weighted
from treering.search.relations.group import GroupOperator
from treering.search.searcher import Search
from treering.search.snapshot import Snapshot, widen
from treering.search.terms import Terms, terms
from treering.views.fragments import store as fragments
from treering.views.memos import store
from treering.views.memos.record import MemoHit, is_from
from treering.views.memos.store import StoredMemo

TOPIC_ALPHA: Final = 0.5
"""Weight of the topic relation: FragRel's default for any relation."""


@dataclass(frozen=True, slots=True)
class Topic:
    """Items of one memo are equally related to each other: env is the mean of the memo's lines.

    ``topics`` gives the memo's number of each item, ``MISSING`` for an item without one, for the
    state of the memos at ``mark``.
    """

    topics: Callable[[Items], Codes]
    mark: store.Mark
    name: str = "topic"

    def bind(self, items: Items) -> GroupOperator:
        """Group items by memo. An item without a memo is related to nothing."""
        return GroupOperator(self.topics(items))


def topics_of_fragments(reader: Reader, items: Items) -> Codes:
    """The number of each fragment's memo. Raises InputError for items that are not fragments."""
    if items.fragment is None:
        raise InputError("memos relate only the fragments of the space they were written over")
    memos = store.memo_of_fragments(reader)
    codes = [memos.get(fragment, MISSING) for fragment in items.fragment.tolist()]
    return np.array(codes, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class MemoSpace:
    """One snapshot of fragments, then memos. ``memos`` belong to its last rows, in order."""

    snapshot: Snapshot
    memos: Sequence[StoredMemo]
    relation: Topic


class MemoSearch:
    """Ranks memos. Keeps the space of the latest state of fragments and memos."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._relations = Relations()
        self._key: tuple[int, store.Mark] | None = None
        self._space: MemoSpace | None = None
        self._read_at: tuple[store.Mark, EmbeddingModel | None] | None = None
        self._stored: Sequence[StoredMemo] = ()
        self._terms: Sequence[Terms] = ()
        self._vectors: Floats = np.zeros((0, 0), dtype=np.float32)
        self._version = 0

    def space(self, reader: Reader, base: Snapshot) -> MemoSpace:
        """The fragments with the memos, built once for each state.

        Each round of a chat adds fragments; the memos are read again only when they have changed.
        """
        mark, model = store.mark(reader), base.state.model
        # Searches of other threads wait here, so that each state is built only once.
        with self._lock:
            if self._read_at != (mark, model):
                self._read_memos(reader, base)
                self._read_at = mark, model
            if self._space is None or self._key != (base.version, mark):
                self._version += 1
                snapshot = widen(base, self._terms, self._vectors, self._version)
                at_of = {seq: at for at, memo in enumerate(self._stored) for seq in memo.covered}
                lines = [at_of.get(entry, MISSING) for entry in base.entry.tolist()]
                codes = np.array([*lines, *range(len(self._stored))], dtype=np.int64)
                self._space = MemoSpace(snapshot, self._stored, Topic(lambda _: codes, mark))
                self._key = (base.version, mark)
            return self._space

    def _read_memos(self, reader: Reader, base: Snapshot) -> None:
        stored, model = store.current(reader), base.state.model
        width = base.items.vectors.shape[1]
        rows = np.zeros((len(stored), width), dtype=np.float32)  # zeros where one is not embedded
        vectors = store.vectors(reader, model) if model else {}
        for row, memo in enumerate(stored):
            if memo.number in vectors:
                rows[row] = fragments.to_vectors([vectors[memo.number]], width)[0]
        self._terms = [terms(memo.memo.option) for memo in stored]
        self._stored, self._vectors = stored, rows

    def search(
        self,
        space: MemoSpace,
        search: Search,
        k: int,
        *,
        source: str | None = None,
    ) -> list[MemoHit]:
        """The k memos that answer a query best, best first; of one source or all."""
        topic = Weighted(space.relation, TOPIC_ALPHA)
        plan = {kind: [*weighted, topic] for kind, weighted in search.plan.items()}
        ranking = rank(space.snapshot, self._relations, replace(search, plan=plan))
        # The fragments only pass on scores; the rows of memos alone may be hits.
        first = len(space.snapshot) - len(space.memos)
        allowed = np.zeros(len(space.snapshot), dtype=np.bool_)
        allowed[first:] = [is_from(stored.memo, source) for stored in space.memos]
        return [
            MemoHit(
                memo=space.memos[row - first].memo,
                score=float(ranking.scores[row]),
                why=ranking.why(row),
            )
            for row in ranking.best(k, allowed).tolist()
        ]
