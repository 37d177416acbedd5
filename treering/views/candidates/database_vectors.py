"""Vectors that stay in the database: it finds the nearest, and computes the cosines of others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, are_among, union
from treering.errors import JournalError
from treering.journal.postgres import nearest
from treering.journal.postgres.nearest import VectorIndex
from treering.journal.space import EmbeddingModel, SpaceReader
from treering.search.ranking import top_rows
from treering.search.relations.contract import Items
from treering.search.snapshot import Cosines, Mask, Snapshot, Spread, Wanted
from treering.search.vectors import Matrix
from treering.views.fragments import store

NEAREST: Final = 128
"""The nearest fragments, for each query."""

BY_WORDS: Final = 512
"""The best fragments by words, and all that tie with the last of them."""

MOST_TIED: Final = 2_048
"""The most fragments by words. Many tie where texts repeat a sentence: their cosines and neighbours
decide which is best."""

FEW: Final = 20_000
"""If a filter leaves at most so many, all their cosines are read, without the index."""

MOST_NEAREST: Final = 4_000
"""The most fragments from the index, where a filter drops many of them."""


@dataclass(slots=True)
class Recent:
    """Vectors that are not in the index yet, by their numbers, which ascend."""

    model: int = 0
    number: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    vectors: Floats = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))


@dataclass(slots=True)
class Held:
    """State in main memory between searches of a space."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    sample: Sample | None = None
    recent: Recent = field(default_factory=Recent)


class DatabaseVectors:
    """The vectors of a snapshot in one read transaction; ``later`` rows are not in the index yet.

    As a ``CosineSource`` it finds the cosines of the nearest and of the best by words.
    """

    def __init__(
        self,
        reader: SpaceReader,
        snapshot: Snapshot,
        index: VectorIndex,
        later: Codes,
        held: Held,
        drawn: int,
    ) -> None:
        model = snapshot.state.model
        assert model is not None  # needed for an index
        self._reader = reader
        self._snapshot = snapshot
        self.model: EmbeddingModel = model
        self._index = index
        self._later = later
        with held.lock:
            self._recent = self._read_recent(held)
            sample = held.sample
            there = None if sample is None else sample.there(snapshot)
            if sample is None or there is None or not sample.fits(snapshot, there[1]):
                sample = held.sample = Sample.draw(snapshot, self.exact, drawn)
                there = sample.there(snapshot)
        self._sample, self._sampled = sample, there

    def exact(self, rows: Codes) -> Floats:
        """The vectors of some rows as they were embedded."""
        return store.read_vectors(self._reader, self.model, self._numbers[rows])

    @property
    def _numbers(self) -> Codes:
        numbers = self._snapshot.vector_number
        assert numbers is not None  # the columns of a space have them
        return numbers

    def __call__(
        self,
        items: Items,  # noqa: ARG002
        query: Floats,
        bm25: Floats | None,
        wanted: Wanted | None,
    ) -> Cosines:
        """See ``CosineSource``."""
        assert wanted is not None  # only searches use such a snapshot
        allowed, mask = wanted.allowed, wanted.favoured
        rows, column = self._candidates(query, bm25, allowed)
        if mask is not None:
            favoured = mask if allowed is None else mask & allowed
            more, of_more = self._candidates(query, bm25, favoured)
            rows, column = np.append(rows, more), np.append(column, of_more)
        found = self._sample.cosines(len(self._snapshot), self._sampled, query, rows, column)
        rows = wanted.promising(found)
        more = rows[(self._numbers[rows] > 0) & ~are_among(rows, found.known)]
        found.values[more] = self._cosines(self._numbers[more], query)
        return replace(found, known=union(found.known, rows))

    def _candidates(
        self, vector: Floats, bm25: Floats | None, allowed: Mask | None
    ) -> tuple[Codes, Floats]:
        """The rows that are nearest, and those that are best by words, with their cosines."""
        rows, column = self._nearest(vector, allowed)
        if bm25 is not None:
            best = union(_best_by_words(bm25, allowed), np.array([bm25.argmax()]))
            more = best[(self._numbers[best] > 0) & ~are_among(best, np.sort(rows))]
            rows = np.concatenate([rows, more])
            column = np.concatenate([column, self._cosines(self._numbers[more], vector)])
        return rows, column

    def _nearest(self, vector: Floats, allowed: Mask | None) -> tuple[Codes, Floats]:
        if allowed is None:
            rows, column = self._of_index(vector, NEAREST)
        else:
            kept = np.flatnonzero(allowed & (self._numbers > 0))
            if len(kept) <= FEW:
                rows, column = kept, self._cosines(self._numbers[kept], vector)
            else:
                limit = min(NEAREST * len(allowed) // len(kept) + 1, MOST_NEAREST)
                rows, column = self._of_index(vector, limit)
                rows, column = rows[allowed[rows]], column[allowed[rows]]
        order = np.argsort(-column, kind="stable")[:NEAREST]
        return rows[order], column[order]

    def _of_index(self, vector: Floats, limit: int) -> tuple[Codes, Floats]:
        """The nearest of the index, and all that is not in it yet, with their cosines."""
        fragments, column = nearest.neighbours(self._reader, self._index, vector, limit)
        of_later = self._cosines(self._numbers[self._later], vector)
        rows = np.concatenate([self._rows_of(fragments), self._later])
        return rows, np.concatenate([column, of_later])

    def _rows_of(self, fragments: Codes) -> Codes:
        rows = np.searchsorted(self._snapshot.fragment, fragments)
        rows = np.minimum(rows, len(self._snapshot) - 1)
        if (self._snapshot.fragment[rows] != fragments).any():
            raise JournalError(
                "the index of vectors holds others than the space; drop the table nearest, and "
                "settle() fills it again"
            )
        return rows

    def _cosines(self, numbers: Codes, vector: Floats) -> Floats:
        """The cosines of the vectors with some numbers; 0 for one that is not found."""
        out = np.zeros(len(numbers), dtype=np.float32)
        if not len(numbers):
            return out
        older = numbers[numbers <= self._index.mark]
        of, cosines = nearest.cosines(self._reader, self._index, older.tolist(), vector)
        recent = self._recent
        of = np.concatenate([of, recent.number])
        cosines = np.concatenate([cosines, recent.vectors @ vector]).astype(np.float32)
        at = np.minimum(np.searchsorted(of, numbers), max(len(of) - 1, 0))
        is_there = of[at] == numbers if len(of) else np.zeros(len(numbers), dtype=np.bool_)
        out[is_there] = cosines[at[is_there]]
        return out

    def _read_recent(self, held: Held) -> Recent:
        """The vectors above the mark; only new ones are read."""
        numbers = np.sort(self._numbers[self._later])
        before = held.recent
        if before.model != self.model.id:
            before = Recent(self.model.id, vectors=np.zeros((0, self.model.dimension), "f4"))
        new = numbers[~np.isin(numbers, before.number)]
        stays = np.isin(before.number, numbers)
        read = store.read_vectors(self._reader, self.model, new)
        number = np.concatenate([before.number[stays], new])
        order = np.argsort(number)
        vectors = np.concatenate([before.vectors[stays], read])
        held.recent = Recent(self.model.id, number[order], vectors[order])
        return held.recent


def _best_by_words(bm25: Floats, allowed: Mask | None) -> Codes:
    """The rows that are best by words and ``allowed``, and those that tie with the last."""
    if allowed is None and np.count_nonzero(bm25) <= BY_WORDS:
        return np.flatnonzero(bm25)
    best = top_rows(bm25, MOST_TIED, allowed)
    scores = bm25[best]
    least = scores[min(BY_WORDS, len(best)) - 1] if len(best) else 0
    chosen: Codes = best[(scores >= least) & (scores > 0)]
    return chosen


class DatabaseMatrix:
    """The vectors as relations may ask for them: rows are read, products need them all.

    ``whole`` gives all of them, which loads the space as if it were small.
    """

    is_exact = False  # cosines are of halves

    def __init__(self, vectors: DatabaseVectors, size: int, whole: Callable[[], Matrix]) -> None:
        self._vectors = vectors
        self._whole = whole
        self.shape = (size, vectors.model.dimension)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any, /) -> Any:
        if isinstance(rows, slice):
            return self._vectors.exact(np.arange(*rows.indices(len(self))))
        if isinstance(rows, np.ndarray) and rows.ndim:
            return self._vectors.exact(np.flatnonzero(rows) if rows.dtype == np.bool_ else rows)
        return self._vectors.exact(np.array([int(rows)]))[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole = np.asarray(self._whole())
        return whole if dtype is None else whole.astype(dtype)


DRAWN: Final = 256
"""Random fragments, besides their neighbours. They estimate the spread of scores; the best scores
are known exactly."""

LIKENESS: Final = 8_192
"""Fragments whose vectors give mean and deviation of all cosines, to 1 % of the deviation."""

BESIDE: Final = 6
"""Rows on either side of each, whose scores count at it by the relations."""

UNKNOWN: Final = 1e6
MOST_BEHIND: Final = 128
"""The error of an estimated cosine is unknown. Terms added after the cosines may bring such rows to
the front."""

GROWN: Final = 1.25
LOST: Final = 0.1
"""A sample is drawn again when the space has grown by ``GROWN``, or ``LOST`` of it was erased."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A random sample: fragments by id, ascending, some ``drawn``, and their vectors, (n, d).

    Base scores count in standard deviations from the mean of the whole space, and the confidence of
    a hit depends on its distance from the others. A few thousand vectors are enough for both.

    ``mean``, (d,), and ``covariance``, (d, d), are those of the vectors of more fragments: of any
    query they give mean and deviation of its cosines.
    """

    fragment: Codes
    is_drawn: NDArray[np.bool_]
    vectors: Floats
    mean: Floats
    covariance: Floats
    model: int
    size: int

    @classmethod
    def draw(
        cls, snapshot: Snapshot, exact: Callable[[Codes], Floats], drawn: int = DRAWN
    ) -> Sample:
        """A sample of the embedded fragments of a snapshot; all, if they are few."""
        embedded = np.flatnonzero(snapshot.embedded)
        rng = np.random.default_rng(len(embedded))
        chosen, rows = embedded, embedded
        if len(embedded) > drawn * (2 * BESIDE + 1):
            chosen = np.sort(rng.choice(embedded, drawn, replace=False))
            rows = _beside(snapshot, chosen)
        if len(embedded) > LIKENESS:
            embedded = np.sort(rng.choice(embedded, LIKENESS, replace=False))
        vectors = exact(embedded)
        mean: Floats = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        vectors -= mean
        model = snapshot.state.model
        return cls(
            fragment=snapshot.fragment[rows].copy(),
            is_drawn=np.isin(rows, chosen),
            vectors=exact(rows),
            mean=mean,
            covariance=vectors.T @ vectors / np.float32(max(len(vectors), 1)),
            model=0 if model is None else model.id,
            size=len(snapshot),
        )

    def fits(self, snapshot: Snapshot, rows: Codes) -> bool:
        """Whether the sample, of which ``rows`` are there, still stands for a snapshot."""
        model = snapshot.state.model
        return (
            model is not None
            and model.id == self.model
            and len(snapshot) <= GROWN * self.size
            and len(rows) >= (1 - LOST) * len(self.fragment)
        )

    def there(self, snapshot: Snapshot) -> tuple[Codes, Codes]:
        """Which of the sample are still there, and their rows."""
        rows = np.searchsorted(snapshot.fragment, self.fragment)
        rows = np.minimum(rows, max(len(snapshot) - 1, 0))
        which = np.flatnonzero(snapshot.fragment[rows] == self.fragment)
        return which, rows[which]

    def cosines(
        self,
        size: int,
        there: tuple[Codes, Codes],
        query: Floats,
        looked_up: Codes,
        cosines: Floats,
    ) -> Cosines:
        """Cosines of ``size`` rows with a query: those of the rows that were looked up, and those
        of the part of the sample that is ``there``.

        All others are at the mean of all.
        """
        which, rows = there
        vectors = self.vectors if len(which) == len(self.vectors) else self.vectors[which]
        # A product so small is sooner done than shared among threads, as ``@`` does.
        sampled = np.einsum("nd,d->n", vectors, query)
        centre = np.float32(query @ self.mean)
        variance = np.float32(query @ self.covariance @ query)
        values = np.full(size, centre)
        values[rows] = sampled
        values[looked_up] = cosines
        spread = Spread(centre, np.sqrt(max(variance, np.float32(0))), rows[self.is_drawn[which]])
        return Cosines(values, union(looked_up), spread, UNKNOWN, MOST_BEHIND)


def _beside(snapshot: Snapshot, rows: Codes) -> Codes:
    """These rows and those read a little before and after them that are embedded."""
    reading, items = snapshot.items.reading, snapshot.items
    assert reading is not None  # snapshots of spaces have their order
    places = reading.places(items.document[rows], items.position[rows])
    every = places[:, None] + np.arange(-BESIDE, BESIDE + 1)
    every = np.unique(every[(every >= 0) & (every < len(reading))])
    near = np.union1d(rows, reading.rows[every].astype(np.int64))
    result: Codes = near[snapshot.embedded[near]]
    return result
