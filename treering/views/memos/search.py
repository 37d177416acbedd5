"""Searching memos: they are ranked in one space with the lines they stand for.

A memo's own score comes from its topic and summary. The topic relation adds the scores of its
lines, so that a memo is found by what was said as well as by its summary.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from treering.arrays import Codes, Floats
from treering.errors import InputError
from treering.journal.contract import Reader
from treering.journal.space import EmbeddingModel
from treering.records import Mode
from treering.search.pipeline import rank
from treering.search.ranking import Queries
from treering.search.relations.combine import Relations
from treering.search.relations.contract import MISSING, Items
from treering.search.relations.group import GroupOperator
from treering.search.relations.plan import Plan, Weighted
from treering.search.snapshot import Snapshot
from treering.search.terms import Terms, terms
from treering.search.widen import widened
from treering.views.fragments import store as fragments
from treering.views.memos import store
from treering.views.memos.record import MemoHit
from treering.views.memos.store import StoredMemo

TOPIC_ALPHA: Final = 0.5
"""Weight of the topic relation: FragRel's default for any relation."""

Topics = Callable[[Codes], Codes]
"""Gives the number of each fragment's memo, or ``MISSING`` for a fragment without one."""


@dataclass(frozen=True, slots=True)
class Topic:
    """Items of one memo are equally related to each other: env is the mean of the memo's lines.

    ``topics`` gives each fragment its memo, for the state of the memos at ``mark``.
    """

    topics: Topics
    mark: store.Mark
    name: str = "topic"

    def bind(self, items: Items) -> GroupOperator:
        """Group fragments by memo. A fragment without a memo is related to nothing."""
        if items.fragment is None:
            raise InputError("memos relate only the fragments of the space they were written over")
        return GroupOperator(self.topics(items.fragment))


@dataclass(frozen=True, slots=True, eq=False)
class _MemoGroups:
    """The topic relation over fragments and memos, by the group of each row."""

    codes: Codes = field(repr=False)
    name: str = "topic"

    def bind(self, items: Items) -> GroupOperator:  # noqa: ARG002
        return GroupOperator(self.codes)


@dataclass(frozen=True, slots=True, eq=False)
class _MemoRows:
    """The memos at ``mark``, with the terms and the vectors (by ``model``) that rank them."""

    mark: store.Mark
    model: EmbeddingModel | None
    stored: tuple[StoredMemo, ...]
    counted: tuple[Terms, ...]
    vectors: Floats


@dataclass(frozen=True, slots=True)
class MemoSpace:
    """One snapshot of fragments, then memos. ``memos`` belong to its last rows, in order."""

    snapshot: Snapshot
    memos: tuple[StoredMemo, ...]
    relation: _MemoGroups


class MemoSearch:
    """Ranks memos. Keeps what it built for the latest state of fragments and memos."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._relations = Relations()
        self._key: tuple[int, store.Mark] | None = None
        self._space: MemoSpace | None = None
        self._memos: _MemoRows | None = None
        self._version = 0

    def space(self, reader: Reader, space: int, base: Snapshot) -> MemoSpace:
        """The fragments with the memos, built once for each state.

        Each round of a chat adds fragments; the memos are read again only when they have changed.
        """
        mark, model = store.mark(reader, space), base.state.model
        # Searches of other threads wait here, so that each state is built only once.
        with self._lock:
            if self._memos is None or (self._memos.mark, self._memos.model) != (mark, model):
                self._memos = _memos(reader, space, base, mark)
            if self._space is None or self._key != (base.version, mark):
                self._version += 1
                self._space = _space(self._memos, base, self._version)
                self._key = (base.version, mark)
            return self._space

    def search(
        self,
        memo_space: MemoSpace,
        query: str,
        vectors: Floats | None,
        defaults: Plan,
        k: int,
        *,
        source: str | None = None,
        mode: Mode = "hybrid",
        alpha: float = TOPIC_ALPHA,
    ) -> list[MemoHit]:
        """The k memos that answer a query best, best first; of one source, if one is given.

        ``vectors`` holds the query's vector by the snapshot's model. Without it, words alone count.
        """
        topic = Weighted(memo_space.relation, alpha)
        plan = {kind: [*weighted, topic] for kind, weighted in defaults.items()}
        ranking = rank(
            memo_space.snapshot,
            self._relations,
            plan,
            Queries([query], [terms(query)], vectors, mode),
        )
        # The fragments only pass on scores; the rows of memos alone may be hits.
        first = len(memo_space.snapshot) - len(memo_space.memos)
        allowed = np.zeros(len(memo_space.snapshot), dtype=np.bool_)
        allowed[first:] = [source is None or _is_of(stored, source) for stored in memo_space.memos]
        return [
            MemoHit(
                memo=memo_space.memos[row - first].memo,
                score=float(ranking.scores[row, 0]),
                why=ranking.why(row, 0),
            )
            for row in ranking.best(0, k, allowed).tolist()
        ]


def topics(reader: Reader, space: int, fragment: Codes) -> Codes:
    """The number of each fragment's memo; ``MISSING`` for a fragment without one."""
    memos = store.memo_of_entries(reader, space)
    entry_of = fragments.entry_of_fragments(reader, space)
    codes = [memos.get(entry_of.get(id_, MISSING), MISSING) for id_ in fragment.tolist()]
    return np.array(codes, dtype=np.int64)


def _memos(reader: Reader, space: int, base: Snapshot, mark: store.Mark) -> _MemoRows:
    memos = tuple(store.current(reader, space))
    counted = tuple(terms(text_of(stored)) for stored in memos)
    return _MemoRows(mark, base.state.model, memos, counted, _vectors(reader, space, base, memos))


def _space(memos: _MemoRows, base: Snapshot, version: int) -> MemoSpace:
    snapshot = widened(base, memos.counted, memos.vectors, version)
    group = {entry: at for at, stored in enumerate(memos.stored) for entry in stored.covered}
    lines = [group.get(entry, MISSING) for entry in base.entry.tolist()]
    codes = np.array([*lines, *range(len(memos.stored))], dtype=np.int64)
    return MemoSpace(snapshot, memos.stored, _MemoGroups(codes))


def _vectors(reader: Reader, space: int, base: Snapshot, memos: Sequence[StoredMemo]) -> Floats:
    """One unit row for each memo; zeros for a memo that the snapshot's model has not embedded."""
    width = base.items.vectors.shape[1]
    rows = np.zeros((len(memos), width), dtype=np.float32)
    model = base.state.model
    if model is not None:
        vectors = store.vectors(reader, space, model)
        for row, stored in enumerate(memos):
            if stored.version in vectors:
                rows[row] = fragments.to_vectors([vectors[stored.version]], width)[0]
    return rows


def text_of(stored: StoredMemo) -> str:
    """The text of a memo that is embedded and counted. It leaves out unsupported sentences."""
    return stored.memo.option


def _is_of(stored: StoredMemo, source: str) -> bool:
    return any(span.source == source for span in stored.memo.spans)
