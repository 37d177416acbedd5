"""Search over one space: rank in memory, then read the texts of the best rows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from numbers import Real
from operator import index
from typing import SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Floats
from treering.embed.checked import checked
from treering.embed.contract import Embedder
from treering.errors import EmbeddingError, EmptyText, EntryCorrupt, InputError, ModelMismatch
from treering.hints import Hint
from treering.journal import entries
from treering.journal.contract import Reader
from treering.journal.space import EmbeddingModel, Space, SpaceReader
from treering.records import MODES, ChatUnit, Context, Filter, Hit, Mode
from treering.search.best_rows import RankedRows
from treering.search.context import (
    DEFAULT_LAYOUT,
    Candidate,
    CountTokens,
    Layout,
    assemble,
    assemble_whole,
)
from treering.search.filters import RowFilter
from treering.search.hits import RowReader, hits
from treering.search.marks import Marker, unmarked
from treering.search.newest import Groups, holding_first, represented
from treering.search.people import SpeakerNames, has_weights_of_people, names_among_people
from treering.search.pipeline import rank
from treering.search.ranking import Queries
from treering.search.relations.combine import Relations
from treering.search.relations.plan import Plan
from treering.search.rounds import RoundRanker, RoundRanking
from treering.search.snapshot import FragmentSource, Snapshot
from treering.search.terms import terms
from treering.text import check_text

log = logging.getLogger("treering")

T = TypeVar("T")

Embedded = tuple[list[str], Floats | None]
"""Queries as they were embedded, and their vectors; None where none are asked for."""

MAX_QUERY_CHARS = 20_000  # a question, or the last turns of a chat; not a document
MOST_FOLDED = 512  # rows that are looked at for k hits, where many say the same
MOVED_ROWS = 512  # of the best, where a newer statement comes before the one it supersedes
SURE_CANDIDATES = 256  # looked at for a context of a least confidence
MOST_SCORES = 1 << 24
"""Fragments times queries that are scored at once: a few hundred megabytes for all terms."""

DAMAGED_ROUNDS = 8  # a search begins anew so often for entries that cannot be read
CANDIDATES_PAGE = 64  # texts read at a time while a context fills


class Searcher:
    """Ranks the fragments of one space. Safe to use from many threads."""

    def __init__(
        self,
        space: Space,
        corpus: FragmentSource,
        embedder: Callable[[], Embedder],
        marks: Marker = unmarked,
        newer: Callable[[SpaceReader], Mapping[int, int]] = lambda _: {},
    ) -> None:
        self._space = space
        self._corpus = corpus
        self._embedder = embedder
        self._marks = marks
        self._newer = newer
        self._relations = Relations()
        self._rounds = RoundRanker(corpus)
        self._model: EmbeddingModel | None = None
        self._names: SpeakerNames | None = None  # in chats between people, as of the last search
        self._knows_names = False

    def expect(self, model: EmbeddingModel | None) -> None:
        """Embed queries for this model; each search checks that it still answers."""
        self._model = model

    def search(
        self,
        queries: Sequence[str],
        k: int,
        condition: Filter,
        mode: Mode,
        plan: Plan,
        chat_unit: ChatUnit = "messages",
        *,
        every: bool = True,
    ) -> list[list[Hit]]:
        """The k best fragments for each query that meet the filter, best first.

        Unless ``every`` is set, one represents those that say the same but for a value. With
        ``rounds``, the fragments of the k best rounds, as each is read.
        """
        check_count("k", k)
        check_queries(queries)
        if not queries:
            return []
        embedded = self._embedded(queries, mode, plan)
        with self._searching(queries, chat_unit) as (reader, snapshot):
            if snapshot is None or not len(snapshot):
                return [[] for _ in queries]
            if self._is_current(snapshot, embedded, queries, plan):
                reader.as_of = known_until(condition)
                asked = (queries, embedded[1], k, condition, mode, plan, chat_unit, every)
                return past_damage(partial(self._best, reader, snapshot, *asked))
        # A speaker has come whom a query names: embed it again, outside of the transaction.
        return self.search(queries, k, condition, mode, plan, chat_unit, every=every)

    def candidates(
        self,
        query: str,
        condition: Filter,
        mode: Mode,
        plan: Plan,
        chat_unit: ChatUnit = "messages",
    ) -> Generator[Candidate, None, None]:
        """All fragments that meet the filter, best first, read as they are consumed."""
        check_queries([query])
        embedded = self._embedded([query], mode, plan)
        with self._searching([query], chat_unit) as (reader, snapshot):
            if snapshot is None or not len(snapshot):
                return
            if self._is_current(snapshot, embedded, [query], plan):
                reader.as_of = known_until(condition)
                asked = (query, embedded[1], condition, mode, plan, chat_unit)
                ranking, order = past_damage(partial(self._ordered, reader, snapshot, *asked))
                yield from self._read(reader, ranking, order, query)
                return
        yield from self.candidates(query, condition, mode, plan, chat_unit)  # as in ``search``

    def _read(
        self, reader: SpaceReader, ranking: RankedRows, order: NDArray[np.int64], query: str
    ) -> Generator[Candidate, None, None]:
        """The fragments at some rows, read a page at a time."""
        items = ranking.snapshot.items
        for start in range(0, len(order), CANDIDATES_PAGE):
            page = order[start : start + CANDIDATES_PAGE]
            rows, read = past_damage(partial(self._readable, reader, ranking, page))
            vectors: Floats = items.vectors[rows]
            for row, hit, vector in zip(
                rows.tolist(), represented(query, read), vectors, strict=True
            ):
                place, session = int(items.position[row]), int(items.session[row])
                unit = int(ranking.round_of[row]) if isinstance(ranking, RoundRanking) else row
                yield Candidate(hit, place, session, vector, unit=unit)

    def context(
        self,
        query: str,
        condition: Filter,
        mode: Mode,
        plan: Plan,
        budget: int,
        count_tokens: CountTokens,
        least: float = 0.0,
        chat_unit: ChatUnit = "messages",
        layout: Layout = DEFAULT_LAYOUT,
    ) -> Context:
        """The best fragments that fit a budget, as passages; none of less confidence than
        ``least``. Rounds are shown whole.
        """

        def filled(candidates: Iterable[Candidate]) -> Context:
            if layout == DEFAULT_LAYOUT and chat_unit == "messages":
                return assemble(query, candidates, budget, count_tokens)
            return assemble_whole(query, candidates, layout, budget, count_tokens)

        ranked = self.candidates(query, condition, mode, plan, chat_unit)
        with closing(ranked) as candidates:  # it reads within a transaction
            if not least:
                return filled(candidates)
            # Far down the ranking nothing is sure: that need not be read.
            first = list(islice(candidates, SURE_CANDIDATES))
        surest = max((candidate.hit.confidence for candidate in first), default=None)
        sure = [candidate for candidate in first if candidate.hit.confidence >= least]
        return replace(filled(sure), surest=surest)

    def hits(
        self, reader: SpaceReader, ranking: RankedRows, query: int, rows: NDArray[np.int64]
    ) -> list[Hit]:
        """The fragments at ``rows`` of a ranking as marked hits for a query, in the order given."""
        spans = self._corpus.spans(reader, ranking.snapshot.fragment[rows].tolist())
        return hits(reader, ranking, query, rows, spans, self._marks)

    def snapshot(self) -> Snapshot | None:
        """The fragments as they are now; None if the space is empty."""
        with self._corpus.reading() as (_, snapshot):
            return snapshot

    def embedded(self, queries: Sequence[str], mode: Mode) -> Floats | None:
        """The queries' vectors, or None where none are asked for or the space has none.

        Outside the read transaction: an embedder may be slow, and a long one keeps the WAL growing.
        """
        check_choice("mode", mode, MODES)
        if mode == "lexical":
            return None
        model = self._model
        if model is None or model.name != self._embedder().name:  # else it is checked by the search
            with self._space.read() as reader:
                model = reader.model
        if model is None:
            return None
        self._ensure_model(model)
        try:
            return checked(self._embedder(), queries, query=True, dimension=model.dimension)
        except EmbeddingError as error:
            raise type(error)(f"{error}; mode='lexical' searches without the model") from error

    def _embedded(self, queries: Sequence[str], mode: Mode, plan: Plan) -> Embedded:
        """The queries' vectors by the speakers that are known, before the space is read."""
        if has_weights_of_people(plan) and not self._knows_names:
            self._knows_names = True
            if (snapshot := self.snapshot()) is not None:
                self._names = names_among_people(snapshot, plan, None)
        asked = _without_names(queries, self._names if has_weights_of_people(plan) else None)
        return asked, self.embedded(asked, mode)

    def _is_current(
        self, snapshot: Snapshot, embedded: Embedded, queries: Sequence[str], plan: Plan
    ) -> bool:
        """Whether queries were embedded by the speakers of this snapshot, which are noted."""
        if has_weights_of_people(plan):
            self._names = names_among_people(snapshot, plan, self._names)
        before, vectors = embedded
        names = self._names if has_weights_of_people(plan) else None
        return vectors is None or before == _without_names(queries, names)

    def _searching(
        self, queries: Sequence[str], chat_unit: ChatUnit
    ) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """A read transaction, and the fragments for a search; rounds are made of all of them."""
        if chat_unit == "rounds":
            return self._corpus.reading()
        return self._corpus.searching([terms(query) for query in queries])

    def _best(
        self,
        reader: SpaceReader,
        snapshot: Snapshot,
        queries: Sequence[str],
        vectors: Floats | None,
        k: int,
        condition: Filter,
        mode: Mode,
        plan: Plan,
        chat_unit: ChatUnit,
        every: bool,
        damaged: Collection[int],
    ) -> list[list[Hit]]:
        """The k best hits for each query, without entries that are damaged."""
        allowed = RowFilter.of(reader, snapshot, condition, without=damaged)
        best: list[list[Hit]] = []
        size = max(MOST_SCORES // len(snapshot), 1)
        for start in range(0, len(queries), size):
            part = slice(start, start + size)
            asked, of_asked = queries[part], None if vectors is None else vectors[part]
            ranking = self._rank(
                reader, snapshot, asked, of_asked, mode, plan, chat_unit, allowed, condition.as_of
            )
            for at, query in enumerate(asked):
                if ranking.by_row and not every:
                    found = self._folded(reader, ranking, at, query, k, allowed)
                else:
                    found = self.hits(reader, ranking, at, allowed.best(ranking, at, k))
                if ranking.by_row:
                    of_entries = partial(self._of_entries, reader, ranking, at, condition, damaged)
                    found = holding_first(query, found, of_entries)[:k]
                best.append(found)
        return best

    def _folded(
        self,
        reader: SpaceReader,
        ranking: RankedRows,
        at: int,
        query: str,
        k: int,
        allowed: RowFilter,
    ) -> list[Hit]:
        """The best hits for a query, those that say the same folded into one."""
        groups, seen, deep = Groups(query), np.zeros(0, dtype=np.int64), k
        while True:
            rows = allowed.best(ranking, at, deep)
            groups.add(self.hits(reader, ranking, at, rows[~np.isin(rows, seen)]))
            if len(groups) >= k or len(rows) < deep or deep >= MOST_FOLDED:
                return groups.best()
            seen, deep = rows, 4 * deep

    def _of_entries(
        self,
        reader: SpaceReader,
        ranking: RankedRows,
        query: int,
        condition: Filter,
        damaged: Collection[int],
        identities: Collection[str],
    ) -> list[Hit]:
        """The best hit of each of some entries, by id, that meets a filter."""
        seqs = entries.seqs_of(reader, reader.id, identities)
        scores, entry = ranking.scores[:, query], ranking.snapshot.entry
        rows = [
            int(of_entry[scores[of_entry].argmax()])
            for seq in entries.matching(reader, reader.id, condition, seqs)
            if seq not in damaged and len(of_entry := np.flatnonzero(entry == seq))
        ]
        return self.hits(reader, ranking, query, np.array(rows, dtype=np.int64))

    def _ordered(
        self,
        reader: SpaceReader,
        snapshot: Snapshot,
        query: str,
        vectors: Floats | None,
        condition: Filter,
        mode: Mode,
        plan: Plan,
        chat_unit: ChatUnit,
        damaged: Collection[int],
    ) -> tuple[RankedRows, NDArray[np.int64]]:
        """A ranking, and its rows that meet the filter as a context takes them."""
        allowed = RowFilter.of(reader, snapshot, condition, whole=True, without=damaged)
        ranking = self._rank(
            reader, snapshot, [query], vectors, mode, plan, chat_unit, allowed, condition.as_of
        )
        order = allowed.best(ranking, 0, len(ranking.snapshot))
        order = _pinned_first(reader, ranking.snapshot, order)
        # A context is filled from the front, so a statement must come before what it replaced.
        order = _newer_first(self._newer(reader), ranking.snapshot, order)
        return ranking, ranking.together(order) if isinstance(ranking, RoundRanking) else order

    def _readable(
        self,
        reader: SpaceReader,
        ranking: RankedRows,
        rows: NDArray[np.int64],
        damaged: Collection[int],
    ) -> tuple[NDArray[np.int64], list[Hit]]:
        """The rows that are not of a damaged entry, and the hits of the first query there."""
        rows = rows[~np.isin(ranking.snapshot.entry[rows], list(damaged))]
        return rows, self.hits(reader, ranking, 0, rows)

    def _rank(
        self,
        reader: SpaceReader,
        snapshot: Snapshot,
        queries: Sequence[str],
        vectors: Floats | None,
        mode: Mode,
        plan: Plan,
        chat_unit: ChatUnit,
        allowed: RowFilter,
        now: datetime | None,
    ) -> RankedRows:
        self.ensure_same(snapshot, vectors)
        of_query = [terms(query) for query in queries]
        if chat_unit == "rounds" and "chat" in snapshot.kinds:
            asked = Queries(queries, of_query, vectors, mode, now)
            return self._rounds.rank(reader, snapshot, plan, asked)
        rows = RowReader(reader, self._corpus, allowed)
        asked = Queries(queries, of_query, vectors, mode, now, rows)
        return rank(snapshot, self._relations, plan, asked)

    def ensure_same(self, snapshot: Snapshot, vectors: Floats | None) -> None:
        """Raises ModelMismatch if the model has changed since ``vectors`` were embedded."""
        if vectors is not None and snapshot.state.model is not None:
            self._ensure_model(snapshot.state.model)

    def _ensure_model(self, model: EmbeddingModel) -> None:
        ours = self._embedder().name
        if model.name != ours:
            raise ModelMismatch(
                f"space {self._space.name!r} is answered by the model {model.name!r} now, this "
                f"memory was opened with {ours!r}",
                hint=Hint.CHANGE_MODEL,
                values={"built": model.name, "opened": ours},
            )


def _without_names(queries: Sequence[str], names: SpeakerNames | None) -> list[str]:
    return list(queries) if names is None else [names.removed(query) for query in queries]


def past_damage(attempt: Callable[[frozenset[int]], T]) -> T:
    """The result of a search that leaves damaged entries out: the log tells of each.

    ``attempt`` is given the sequence numbers of those. Raises EntryCorrupt where they are needed,
    or where more turn up all the time.
    """
    damaged = frozenset[int]()
    for _ in range(DAMAGED_ROUNDS):
        try:
            return attempt(damaged)
        except EntryCorrupt as error:
            if error.rows <= damaged:
                raise
            log.warning("damaged entries left out of a search: %d; %s", len(error.rows), error)
            damaged |= error.rows
    return attempt(damaged)


def by_words_if_down(search: Callable[[Mode], T], mode: Mode = "hybrid") -> T:
    """The result of a search in a ``mode``, or by words alone while the embedder fails.

    Raises ModelMismatch, which does not pass by itself.
    """
    try:
        return search(mode)
    except ModelMismatch:
        raise
    except EmbeddingError as error:
        log.warning("searching by words alone, the embedding model does not answer: %s", error)
        return search("lexical")


def known_until(condition: Filter) -> int | None:
    """Up to when statements count that tell what holds; None for all."""
    return None if condition.as_of is None else entries.micros(condition.as_of)


def _pinned_first(
    reader: Reader, snapshot: Snapshot, order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rows, best first, with those of pinned entries before all others."""
    pinned = entries.pinned(reader, snapshot.state.id)
    if not pinned:
        return order
    first = np.isin(snapshot.entry[order], pinned)
    return np.concatenate([order[first], order[~first]])


def _newer_first(
    newer: Mapping[int, int], snapshot: Snapshot, order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rows, best first, with those of a newer statement before those of the one it supersedes.

    Only the first rows are looked at; the rest would not fit into a context anyway.
    """
    if not newer:
        return order
    front = order[:MOVED_ROWS]
    holding = {newer[entry] for entry in snapshot.entry[front].tolist() if entry in newer}
    if not holding:
        return order
    rows: dict[int, list[int]] = {}
    for row in order[np.isin(snapshot.entry[order], list(holding))].tolist():
        rows.setdefault(int(snapshot.entry[row]), []).append(row)
    # Each row is preceded by the rows that hold instead. A row may so appear twice: its first
    # place counts, and ``dict.fromkeys`` keeps that one.
    moved: list[int] = []
    for row in front.tolist():
        moved += rows.get(newer.get(int(snapshot.entry[row]), 0), [])
        moved.append(row)
    first = np.array(list(dict.fromkeys(moved)), dtype=np.int64)
    return np.concatenate([first, order[~np.isin(order, first)]])


def check_count(name: str, value: SupportsIndex, what: str = "") -> None:
    """Raises InputError for what is no whole number of at least 1, of ``what``."""
    is_whole = isinstance(value, SupportsIndex) and not isinstance(value, bool)
    if not is_whole or index(value) < 1:
        raise InputError(
            f"{name} is {value!r}; it must be a whole number of at least 1{what}", param=name
        )


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raises InputError for a value that is not one of the choices."""
    if value not in choices:
        raise InputError(f"{name} is {value!r}; it can be {', '.join(choices)}", param=name)


def check_confidence(least: float) -> None:
    """Raises InputError for a least confidence that is no probability."""
    if isinstance(least, bool) or not isinstance(least, Real) or not 0 <= least <= 1:
        raise InputError(
            f"min_confidence is {least!r}; it must be a number from 0 to 1", param="min_confidence"
        )


def check_queries(queries: Sequence[str]) -> None:
    """Raises EmptyText, TextEncodingError or InputError for what cannot be searched for."""
    if isinstance(queries, str):
        raise InputError(
            f"queries is a text, {queries!r:.60}; give a list of texts", param="queries"
        )
    for query in queries:
        if not isinstance(query, str):
            raise InputError(f"a query is a {type(query).__name__}; give a text")
        if not check_text(query, "the query").strip():
            raise EmptyText("the query is empty; ask for something", param="query")
        if len(query) > MAX_QUERY_CHARS:
            raise InputError(
                f"the query has {len(query)} characters, at most {MAX_QUERY_CHARS}",
                hint=Hint.ADD_TEXT,
                param="query",
            )
