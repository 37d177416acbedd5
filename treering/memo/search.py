"""Searching memos: they are ranked in one space with the lines they stand for.

A memo's own score is that of its topic and summary; the topic relation adds what its lines score,
so that a memo is found by what was said as well as by what was summed up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from treering.errors import InputError
from treering.fragments import store as fragments
from treering.journal.contract import Reader
from treering.journal.space import EmbeddingModel
from treering.memo import store
from treering.memo.record import MemoHit
from treering.memo.store import Stored
from treering.recall.rank import rank
from treering.relate.combine import Relations
from treering.relate.contract import MISSING, Codes, Floats, Items
from treering.relate.defaults import Weighted
from treering.relate.group import GroupOperator
from treering.relate.registry import Plan
from treering.score.own import Mode
from treering.score.terms import Terms, terms
from treering.search.snapshot import Snapshot
from treering.search.widen import widened

TOPIC_ALPHA: Final = 0.5
"""Weight of the topic relation: FragRel's default for any relation."""

Topics = Callable[[Codes], Codes]
"""The memo that stands for each fragment, ``MISSING`` for none."""


@dataclass(frozen=True, slots=True)
class Topic:
    """Items of one memo are equally related to each other: env is the mean of the memo's lines.

    ``topics`` gives each fragment its memo, as of the state of the memos that ``mark`` names.
    """

    topics: Topics
    mark: store.Mark
    name: str = "topic"

    def bind(self, items: Items) -> GroupOperator:
        """Groups by memo; a fragment without one is related to nothing."""
        if items.fragment is None:
            raise InputError("memos relate only the fragments of the space they were written over")
        return GroupOperator(self.topics(items.fragment))


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The topic relation over fragments and memos, the group of each given."""

    codes: Codes = field(repr=False)
    name: str = "topic"

    def bind(self, items: Items) -> GroupOperator:  # noqa: ARG002
        return GroupOperator(self.codes)


@dataclass(frozen=True, slots=True, eq=False)
class _Memos:
    """The memos as they are at ``mark``, with what they are ranked by; vectors of ``model``."""

    mark: store.Mark
    model: EmbeddingModel | None
    stored: tuple[Stored, ...]
    counted: tuple[Terms, ...]
    vectors: Floats


@dataclass(frozen=True, slots=True)
class Space:
    """Fragments, then memos, as one snapshot; ``memos`` are those of its last rows, in order."""

    snapshot: Snapshot
    memos: tuple[Stored, ...]
    relation: _Groups


class MemoSearch:
    """Ranks memos; keeps what it built for one state of fragments and memos."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._relations = Relations()
        self._key: tuple[int, store.Mark] | None = None
        self._space: Space | None = None
        self._memos: _Memos | None = None
        self._version = 0

    def space(self, reader: Reader, space: int, base: Snapshot) -> Space:
        """The fragments with the memos, built once for each state.

        Each round of a chat adds fragments; the memos are read again only when they have changed.
        """
        mark, model = store.mark(reader, space), base.state.model
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
        found: Space,
        query: str,
        vectors: Floats | None,
        defaults: Plan,
        k: int,
        *,
        source: str | None = None,
        mode: Mode = "hybrid",
        alpha: float = TOPIC_ALPHA,
    ) -> list[MemoHit]:
        """The k memos that answer a query best, best first; of one source, if that is given.

        ``vectors`` is the query's, by the snapshot's model; without it, words alone count.
        """
        topic = Weighted(found.relation, alpha)
        plan = {kind: [*weighted, topic] for kind, weighted in defaults.items()}
        ranking = rank(found.snapshot, self._relations, plan, [query], vectors, mode)
        first = len(found.snapshot) - len(found.memos)
        allowed = np.zeros(len(found.snapshot), dtype=np.bool_)
        allowed[first:] = [source is None or _is_of(one, source) for one in found.memos]
        return [
            MemoHit(
                memo=found.memos[row - first].memo,
                score=float(ranking.scores[row, 0]),
                why=ranking.why(row, 0),
            )
            for row in ranking.best(0, k, allowed).tolist()
        ]


def topics(reader: Reader, space: int, fragment: Codes) -> Codes:
    """The memo of each fragment, by number, ``MISSING`` for one that no memo stands for."""
    memos = store.memo_of_entries(reader, space)
    entry_of = fragments.entry_of_fragments(reader, space)
    found = [memos.get(entry_of.get(int(one), MISSING), MISSING) for one in fragment]
    return np.array(found, dtype=np.int64)


def _memos(reader: Reader, space: int, base: Snapshot, mark: store.Mark) -> _Memos:
    memos = tuple(store.current(reader, space))
    counted = tuple(terms(text_of(one)) for one in memos)
    return _Memos(mark, base.state.model, memos, counted, _vectors(reader, space, base, memos))


def _space(memos: _Memos, base: Snapshot, version: int) -> Space:
    snapshot = widened(base, memos.counted, memos.vectors, version)
    group = {entry: at for at, one in enumerate(memos.stored) for entry in one.covered}
    lines = [group.get(int(entry), MISSING) for entry in base.entry]
    codes = np.array([*lines, *range(len(memos.stored))], dtype=np.int64)
    return Space(snapshot, memos.stored, _Groups(codes))


def _vectors(reader: Reader, space: int, base: Snapshot, memos: Sequence[Stored]) -> Floats:
    """A unit row a memo; all zero for one that is not embedded by the model that answers."""
    width = base.items.vectors.shape[1]
    found = np.zeros((len(memos), width), dtype=np.float32)
    model = base.state.model
    if model is not None:
        made = store.vectors(reader, space, model)
        for row, one in enumerate(memos):
            if one.version in made:
                found[row] = fragments.to_vectors([made[one.version]], width)[0]
    return found


def text_of(one: Stored) -> str:
    """What is embedded and counted of a memo: nothing that its lines do not support."""
    return one.memo.option


def _is_of(one: Stored, source: str) -> bool:
    return any(span.source == source for span in one.memo.spans)
