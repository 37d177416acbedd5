"""Search over one space: rank in memory, then read the texts of the best rows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from operator import index
from typing import Final, NamedTuple, SupportsIndex, TypeVar

import numpy as np

from treering.arrays import Codes, Floats, without
from treering.embed.contract import Embedder, unit_vectors
from treering.errors import EmbeddingError, EmptyText, EntryCorrupt, InputError, ModelMismatch
from treering.hints import Hint
from treering.journal import entries
from treering.journal.space import EmbeddingModel, Space, SpaceReader
from treering.records import KINDS, MODES, ChatUnit, Context, Filter, Hit, Mode
from treering.search.context import (
    DEFAULT_LAYOUT,
    Candidate,
    CountTokens,
    Layout,
    fill,
)
from treering.search.hits import Groups, RowReader, hits, holding_first, represent_all
from treering.search.lexical import Corpus
from treering.search.marks import Marker, mark_nothing
from treering.search.pipeline import rank
from treering.search.ranking import Ranking
from treering.search.relations.contract import Plan, Relations, among_people
from treering.search.rounds import RankedRows, RoundRanker, RoundRanking
from treering.search.scores import UnionStatistics, cosine_scores, moments
from treering.search.snapshot import (
    NO_ROWS,
    FragmentSource,
    Mask,
    Snapshot,
    Wanted,
    allowed_rows,
    without_speakers,
)
from treering.search.terms import NO_TERMS, Terms, query_terms
from treering.text import check_text

log = logging.getLogger("treering")

T = TypeVar("T")

MAX_QUERY_CHARS: Final = 20_000  # a question, or the last turns of a chat; not a document
MOST_FOLDED: Final = 512  # rows that are looked at for k hits, where many say the same
MOVED_ROWS: Final = 512  # of the best, where a newer statement comes before the one it supersedes
DAMAGED_ROUNDS: Final = 8  # a search begins again so often for entries that cannot be read
CANDIDATES_PAGE: Final = 64  # texts read at a time while a context fills

Moments = tuple[int, float, float]
"""Number, mean and standard deviation of some scores."""


class SpaceCounts(NamedTuple):
    """The statistics of the words of a query in a space, and its fragments by kind."""

    corpus: Corpus
    kinds: Codes
    model: EmbeddingModel | None


@dataclass(frozen=True, slots=True)
class Search:
    """A query, its conditions, and the unit ``vector`` of the text that was ``embedded`` for it.

    "Last week" counts from ``condition.as_of``, by default from now. If several spaces are asked,
    ``union`` has the statistics of all.
    """

    query: str
    condition: Filter
    mode: Mode
    plan: Plan
    chat_unit: ChatUnit = "messages"
    vector: Floats | None = None
    embedded: str | None = None
    terms: Terms = field(default_factory=lambda: NO_TERMS)
    union: UnionStatistics | None = None

    def __post_init__(self) -> None:
        check_query(self.query)
        if self.terms is NO_TERMS:  # split once: ``replace`` passes them on
            object.__setattr__(self, "terms", query_terms(self.query))


class Searcher:
    """Ranks the fragments of one space. Safe to use from many threads."""

    def __init__(
        self,
        space: Space,
        corpus: FragmentSource,
        embedder: Callable[[], Embedder],
        marks: Marker = mark_nothing,
        newer: Callable[[SpaceReader], Mapping[int, int]] = lambda _: {},
    ) -> None:
        self._space = space
        self._corpus = corpus
        self._embedder = embedder
        self._marks = marks
        self._newer = newer
        self._relations = Relations()
        self.rounds = RoundRanker(corpus)
        self._model: EmbeddingModel | None = None
        self._people: tuple[str, ...] | None = None  # see ``_people``; None before the first search

    def expect(self, model: EmbeddingModel | None) -> None:
        """Embed queries for this model; each search checks that it still answers."""
        self._model = model

    def search(self, search: Search, k: int, *, every: bool = True) -> list[Hit]:
        """Return the k best fragments that meet the filter, best first.

        Unless ``every`` is set, one represents those that say the same but for a value. With
        ``rounds``, return the fragments of the k best rounds, as each is read.
        """
        check_count("k", k)
        with self._read(search) as (reader, found):
            if found is None:
                return []
            return past_damage(partial(self._best, reader, *found, k, every))

    def search_many(self, searches: Sequence[Search], k: int, *, every: bool) -> list[list[Hit]]:
        """Return the hits of searches in one mode; their queries are embedded together."""
        if len(searches) > 1:
            searches = self._embed(searches, [*map(self._without_names, searches)])
        return [self.search(search, k, every=every) for search in searches]

    def candidates(self, search: Search) -> Generator[Candidate, None, None]:
        """Yield all fragments that meet the filter, best first, read as they are consumed.

        Pinned ones come before the others.
        """
        with self._read(search) as (reader, found):
            if found is None:
                return
            ranking, order, pinned = past_damage(partial(self._order_rows, reader, *found))
            items, entry = ranking.snapshot.items, ranking.snapshot.entry
            for start in range(0, len(order), CANDIDATES_PAGE):
                page = order[start : start + CANDIDATES_PAGE]
                rows, read = past_damage(partial(self._readable, reader, ranking, page))
                hits, vectors = represent_all(search.query, read), items.vectors[rows]
                for row, hit, vector in zip(rows.tolist(), hits, vectors, strict=True):
                    place, session = int(items.position[row]), int(items.session[row])
                    unit = int(ranking.round_of[row]) if isinstance(ranking, RoundRanking) else row
                    is_pinned = int(entry[row]) in pinned
                    yield Candidate(hit, place, session, vector, unit=unit, is_pinned=is_pinned)

    def context(
        self,
        search: Search,
        budget: int,
        count_tokens: CountTokens,
        least: float = 0.0,
        layout: Layout = DEFAULT_LAYOUT,
    ) -> Context:
        """Return the best fragments that fit a budget, as passages; rounds are shown whole.

        No fragment has a confidence below ``least``.
        """
        whole = layout != DEFAULT_LAYOUT or search.chat_unit != "messages"
        with closing(self.candidates(search)) as ranked:  # it reads within a transaction
            return fill(search.query, ranked, budget, count_tokens, least, layout, whole=whole)

    def hits(self, reader: SpaceReader, ranking: RankedRows, rows: Codes) -> list[Hit]:
        """Return the fragments at ``rows`` of a ranking as marked hits, in the order given."""
        # Those that a signal has read are not read again.
        read = ranking.rows or RowReader(reader, self._corpus, ranking.snapshot, None)
        quotes = read.quotes(rows)
        return hits(ranking, rows, quotes, self._marks(reader, quotes), reader.name)

    def counts(self, search: Search) -> SpaceCounts | None:
        """Return the counts of a space for the words of a query; None if it has no fragments."""
        with self._corpus.searching() as (_, snapshot):
            if snapshot is None or not len(snapshot):
                return None
            asked = search.terms[:, 0].tolist()
            kinds = np.bincount(snapshot.kind, minlength=len(KINDS))
            return SpaceCounts(snapshot.lexical.corpus(asked), kinds, snapshot.state.model)

    def measure(self, search: Search) -> tuple[Search, Moments | None, Moments | None]:
        """Return a search with its vector, and the moments of BM25 and cosines."""
        with self._read(search) as (_, found):
            if found is None:
                return search, None, None
            snapshot, asked = found
            self.ensure_same(snapshot, asked.vector)
            bm25 = None if asked.mode == "dense" else snapshot.lexical.score(asked.terms)
            none_wanted = Wanted(None, None, lambda _: NO_ROWS)
            cosines = cosine_scores(snapshot, asked.vector, asked.mode, bm25, none_wanted)
            words = None if bm25 is None else (len(snapshot), *moments(bm25))
            meaning = None
            if cosines is not None and (spread := cosines.spread) is not None:
                meaning = (len(snapshot), float(spread.centre), float(spread.deviation))
            elif cosines is not None:
                column = without(cosines.values, np.flatnonzero(~snapshot.embedded))
                meaning = (len(column), *moments(column))
            return asked, words, meaning

    def snapshot(self) -> Snapshot | None:
        """Return the fragments as they are now; None if the space is empty."""
        with self._corpus.reading() as (_, snapshot):
            return snapshot

    def embed_queries(self, queries: Sequence[str], mode: Mode) -> Floats | None:
        """Return the queries' vectors, or None if the mode is lexical or the space has none.

        Call it outside a read transaction: embedding may be slow, and the WAL grows meanwhile.
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
            return unit_vectors(self._embedder(), queries, query=True, dimension=model.dimension)
        except EmbeddingError as error:
            raise type(error)(f"{error}; mode='lexical' searches without the model") from error

    @contextmanager
    def _read(self, search: Search) -> Iterator[tuple[SpaceReader, tuple[Snapshot, Search] | None]]:
        """Embed the query, then read the fragments; None without any.

        In chats between people, a query is embedded without the speakers it names, as of the last
        search. If a speaker has come since whom it names, it is embedded again.
        """
        # Rounds are made of all fragments.
        reading = self._corpus.reading if search.chat_unit == "rounds" else self._corpus.searching
        while True:
            text = self._without_names(search)
            if text != search.embedded:
                search = self._embed([search], [text])[0]
            with reading() as (reader, snapshot):
                if snapshot is None or not len(snapshot):
                    yield reader, None
                    return
                self._people = _people(snapshot, search.plan)
                if search.vector is None or text == self._without_names(search):
                    reader.as_of = known_until(search.condition)
                    if search.union is not None:
                        lexical = snapshot.lexical.among(search.union.corpus)
                        snapshot = replace(snapshot, lexical=lexical)
                    yield reader, (snapshot, search)
                    return

    def _without_names(self, search: Search) -> str:
        if self._people is None:
            with self._corpus.searching() as (_, snapshot):
                self._people = _people(snapshot, search.plan)
        return without_speakers(self._people, search.query) if self._people else search.query

    def _embed(self, searches: Sequence[Search], texts: Sequence[str]) -> list[Search]:
        """Return searches, all in one mode, with the vectors of their texts, if there are any."""
        vectors = self.embed_queries(texts, searches[0].mode)
        found = [None] * len(texts) if vectors is None else vectors
        return [
            replace(search, vector=vector, embedded=text)
            for search, vector, text in zip(searches, found, texts, strict=True)
        ]

    def _best(
        self,
        reader: SpaceReader,
        snapshot: Snapshot,
        search: Search,
        k: int,
        every: bool,
        damaged: Collection[int],
    ) -> list[Hit]:
        """Return the k best hits, without entries that are damaged."""
        allowed = allowed_rows(reader, snapshot, search.condition, damaged)
        ranking = self._rank(reader, snapshot, search, allowed)
        if isinstance(ranking, RoundRanking):
            return self.hits(reader, ranking, ranking.best(k, allowed))
        folded = self._fold(reader, ranking, k, allowed, every)
        of_entries = partial(self._of_entries, reader, ranking, allowed)
        return holding_first(search.query, folded, of_entries)[:k]

    def _fold(
        self, reader: SpaceReader, ranking: Ranking, k: int, allowed: Mask | None, every: bool
    ) -> list[Hit]:
        """Return the best hits, those that say the same folded into one."""
        groups, seen, depth = Groups(ranking.search.query), NO_ROWS, k
        while True:
            rows = ranking.best(depth, allowed)
            found = self.hits(reader, ranking, rows[~np.isin(rows, seen)])
            if every:
                return found
            groups.add(found)
            if len(groups) >= k or len(rows) < depth or depth >= MOST_FOLDED:
                return groups.best()
            seen, depth = rows, 4 * depth

    def _of_entries(
        self,
        reader: SpaceReader,
        ranking: Ranking,
        allowed: Mask | None,
        identities: Collection[str],
    ) -> list[Hit]:
        """Return the best hit of each of some entries, by id, that meets the filter."""
        scores, entry = ranking.scores, ranking.snapshot.entry
        every = (entry == seq for seq in entries.seqs_of(reader, reader.id, identities))
        met = (mask if allowed is None else mask & allowed for mask in every)
        rows = [int(of[scores[of].argmax()]) for mask in met if len(of := np.flatnonzero(mask))]
        return self.hits(reader, ranking, np.array(rows, dtype=np.int64))

    def _order_rows(
        self, reader: SpaceReader, snapshot: Snapshot, search: Search, damaged: Collection[int]
    ) -> tuple[RankedRows, Codes, frozenset[int]]:
        """Return a ranking, its rows that meet the filter as a context takes them, and the pinned
        entries.
        """
        allowed = allowed_rows(reader, snapshot, search.condition, damaged)
        ranking = self._rank(reader, snapshot, search, allowed)
        order = ranking.best(len(snapshot), allowed)
        pinned = frozenset(entries.pinned_seqs(reader, snapshot.state.id))
        if pinned:
            is_pinned = np.isin(snapshot.entry, list(pinned))
            if not len(order):  # also beside words that no text has
                order = np.flatnonzero(is_pinned if allowed is None else is_pinned & allowed)
            order = np.concatenate([order[is_pinned[order]], order[~is_pinned[order]]])
        # A context is filled from the front, so a statement must come before the replaced one.
        order = _newer_first(self._newer(reader), snapshot, order)
        order = ranking.together(order) if isinstance(ranking, RoundRanking) else order
        return ranking, order, pinned

    def _readable(
        self, reader: SpaceReader, ranking: RankedRows, rows: Codes, damaged: Collection[int]
    ) -> tuple[Codes, list[Hit]]:
        """Return the rows that are not of a damaged entry, and their hits."""
        rows = rows[~np.isin(ranking.snapshot.entry[rows], list(damaged))]
        return rows, self.hits(reader, ranking, rows)

    def _rank(
        self, reader: SpaceReader, snapshot: Snapshot, search: Search, allowed: Mask | None
    ) -> RankedRows:
        rows = self._row_reader(reader, snapshot, search, allowed)
        if search.chat_unit == "rounds" and "chat" in snapshot.kinds:
            return self.rounds.rank(rows, search)
        return rank(snapshot, self._relations, search, rows)

    def _row_reader(
        self, reader: SpaceReader, snapshot: Snapshot, search: Search, allowed: Mask | None
    ) -> RowReader:
        self.ensure_same(snapshot, search.vector)
        return RowReader(reader, self._corpus, snapshot, allowed)

    def ensure_same(self, snapshot: Snapshot, vector: Floats | None) -> None:
        """Raise ModelMismatch if the model has changed since a ``vector`` was embedded."""
        if vector is not None and snapshot.state.model is not None:
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


def _people(snapshot: Snapshot | None, plan: Plan) -> tuple[str, ...]:
    """Return the speakers of chats between people; none of other chats."""
    is_theirs = snapshot is not None and among_people(snapshot, plan) is not None
    return snapshot.speakers if snapshot is not None and is_theirs else ()


def past_damage(attempt: Callable[[frozenset[int]], T]) -> T:
    """Return the result of a search that leaves out damaged entries, with a warning for each.

    ``attempt`` gets their sequence numbers. Raise EntryCorrupt if one of them is needed, or if more
    turn up all the time.
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
    """Return the result of a search in a ``mode``, or by words alone while the embedder fails.

    Raise ModelMismatch, which does not pass by itself.
    """
    try:
        return search(mode)
    except ModelMismatch:
        raise
    except EmbeddingError as error:
        log.warning("searching by words alone, the embedding model does not answer: %s", error)
        return search("lexical")


def known_until(condition: Filter) -> int | None:
    """Return the time up to which statements count; None for all."""
    return None if condition.as_of is None else entries.micros(condition.as_of)


def _newer_first(newer: Mapping[int, int], snapshot: Snapshot, order: Codes) -> Codes:
    """Put the rows of a newer statement before those of the one it supersedes.

    Only the first rows are looked at; the rest would not fit into a context.
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
    """Raise InputError unless ``value`` is a positive integer, of ``what``."""
    is_whole = isinstance(value, SupportsIndex) and not isinstance(value, bool)
    if not is_whole or index(value) < 1:
        raise InputError(
            f"{name} is {value!r}; it must be a whole number of at least 1{what}", param=name
        )


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise InputError unless ``value`` is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} is {value!r}; it can be {', '.join(choices)}", param=name)


def check_confidence(least: float) -> None:
    """Raise InputError unless ``least`` is a probability."""
    if isinstance(least, bool) or not isinstance(least, Real) or not 0 <= least <= 1:
        raise InputError(
            f"min_confidence is {least!r}; it must be a number from 0 to 1", param="min_confidence"
        )


def check_queries(queries: Sequence[str]) -> None:
    """Raise EmptyText, TextEncodingError or InputError for queries that are not texts."""
    if isinstance(queries, str):
        raise InputError(
            f"queries is a text, {queries!r:.60}; give a list of texts", param="queries"
        )
    for query in queries:
        check_query(query)


def check_query(query: str) -> None:
    """Raise EmptyText, TextEncodingError or InputError for a query that is not a text."""
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
