"""The vectors of a space that stay in the database, as a search sees them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, union
from treering.errors import JournalError
from treering.journal import damage
from treering.journal.postgres import nearest
from treering.journal.postgres.nearest import VectorIndex
from treering.journal.space import EmbeddingModel, SpaceReader
from treering.search.rank import top_rows
from treering.search.relations.contract import Matrix
from treering.search.snapshot import FoundChange, FoundCosines, Snapshot
from treering.views.candidates.held_vectors import FilteredVectors
from treering.views.candidates.sample import Sample
from treering.views.fragments import store

NEAREST: Final = 128
"""Fragments that are taken of the nearest for each query."""

BY_WORDS: Final = 512
"""Fragments that are taken of the best by words, and all that tie with the last of them."""

MOST_TIED: Final = 2_048
"""Fragments that are taken of the best by words, at most. Many tie where texts repeat a sentence:
which of them is best is told by their cosines, and by what stands beside them."""

FEW: Final = 20_000
"""If a filter keeps no more, the cosines of all of these are looked up, without the index. Where
the same rows are asked for again, their vectors are held."""

MOST_NEAREST: Final = 4_000
"""Fragments that the index is asked for, at most, where a filter leaves out many of them."""

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Recent:
    """Vectors that are not in the index yet, by their numbers, which ascend."""

    model: int = 0
    number: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    vectors: Floats = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))


@dataclass(slots=True)
class Held:
    """What is kept in main memory from one search of a space to the next."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    sample: Sample | None = None
    recent: Recent = field(default_factory=Recent)
    filtered: FilteredVectors = field(default_factory=FilteredVectors)


def read_vectors(reader: SpaceReader, model: EmbeddingModel, numbers: Codes) -> Floats:
    """Vectors by their numbers as they were embedded, (n, d); zeros for number 0.

    Raises JournalCorrupt.
    """
    wanted = union(numbers[numbers > 0])
    rows = reader.rows(
        f"SELECT id, data FROM vector_data WHERE {reader.dialect.in_heap_of_space}"
        " AND id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (reader.space, json.dumps(wanted.tolist())),
    )
    data = [row[1] for row in rows]
    vectors = np.zeros((len(numbers), model.dimension), dtype=np.float32)
    with damage.decoding("a stored vector"):
        if len(data) < len(wanted):
            raise ValueError("vectors are missing")
        stored = store.to_vectors(data, model.dimension)
    if len(wanted):
        vectors[numbers > 0] = stored[np.searchsorted(wanted, numbers[numbers > 0])]
    return vectors


class OutsideVectors:
    """The vectors of a snapshot in one read transaction, of which some ``later`` rows are not in
    the index.
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
        assert model is not None  # else there is no index
        self._reader = reader
        self._snapshot = snapshot
        self._model: EmbeddingModel = model
        self._index = index
        self._later = later
        self._filtered = held.filtered
        with held.lock:
            self._recent = self._read_recent(held)
            sample = held.sample
            there = None if sample is None else sample.there(snapshot)
            if sample is None or there is None or not sample.fits(snapshot, there[1]):
                sample = held.sample = Sample.of(snapshot, self.exact, drawn)
                there = sample.there(snapshot)
        self._sample, self._sampled = sample, there

    def exact(self, rows: Codes) -> Floats:
        """The vectors of some rows as they were embedded."""
        return read_vectors(self._reader, self._model, self._numbers[rows])

    @property
    def _numbers(self) -> Codes:
        numbers = self._snapshot.vector_number
        assert numbers is not None  # the columns of a space have them
        return numbers

    def cosines(
        self,
        queries: Floats,
        bm25: Floats | None,
        allowed: Mask | None,
        favoured: Sequence[Mask | None] = (),
    ) -> FoundCosines:
        """See ``Outside``."""
        candidates: list[tuple[Codes, Floats]] = []
        for query, vector in enumerate(queries):
            of_query = None if bm25 is None else bm25[:, query]
            rows, column = self._candidates(vector, of_query, allowed)
            mask = favoured[query] if favoured else None
            if mask is not None:
                mask = mask if allowed is None else mask & allowed
                more, of_more = self._candidates(vector, of_query, mask)
                is_new = ~np.isin(more, rows)
                rows = np.concatenate([rows, more[is_new]])
                column = np.concatenate([column, of_more[is_new]])
            candidates.append((rows, column))
        return self._sample.cosines(len(self._snapshot), self._sampled, queries, candidates)

    def add(self, found: FoundCosines, rows: Codes, query: int, vector: Floats) -> FoundChange:
        """See ``Outside``."""
        more = rows[self._numbers[rows] > 0]
        more = more[~_are_in(more, np.sort(found.rows[query]))]
        cosines = self._cosines(self._numbers[more], vector)
        change = cosines - found.values[more, query]
        found.values[more, query] = cosines
        found.rows[query] = union(rows, found.rows[query])
        return FoundChange(more, change)

    def looked_up(self, rows: Codes, vector: Floats) -> Floats:
        """See ``Outside``."""
        return self._cosines(self._numbers[rows], vector)

    def _candidates(
        self, vector: Floats, bm25: Floats | None, allowed: Mask | None
    ) -> tuple[Codes, Floats]:
        """The rows that are nearest, and those that are best by words, with their cosines."""
        rows, column = self._nearest(vector, allowed)
        if bm25 is not None:
            best = union(_best_by_words(bm25, allowed), np.array([bm25.argmax()]))
            more = best[(self._numbers[best] > 0) & ~_are_in(best, np.sort(rows))]
            rows = np.concatenate([rows, more])
            column = np.concatenate([column, self._cosines(self._numbers[more], vector)])
        return rows, column

    def _nearest(self, vector: Floats, allowed: Mask | None) -> tuple[Codes, Floats]:
        if allowed is None:
            rows, column = self._of_index(vector, NEAREST)
        else:
            kept = np.flatnonzero(allowed & (self._numbers > 0))
            if len(kept) <= FEW:
                rows, column = kept, self._of_filter(kept, vector)
            else:
                limit = min(NEAREST * len(allowed) // len(kept) + 1, MOST_NEAREST)
                rows, column = self._of_index(vector, limit)
                rows, column = rows[allowed[rows]], column[allowed[rows]]
        order = np.argsort(-column, kind="stable")[:NEAREST]
        return rows[order], column[order]

    def _of_filter(self, rows: Codes, vector: Floats) -> Floats:
        """The cosines of all rows that a filter keeps."""
        dimension = self._model.dimension
        vectors = self._filtered.of(self._snapshot, rows, dimension, self._in_halves)
        if vectors is None:
            return self._cosines(self._numbers[rows], vector)
        # Threads that share a product, as those of ``@`` do, would stay on the database's cores.
        cosines: Floats = np.einsum("nd,d->n", vectors, vector)
        return cosines

    def _in_halves(self, rows: Codes) -> Floats:
        """The vectors of some rows, (n, d), zeros for one that is not found.

        They are from the table of the index, whose pages a search has just read. Those as they were
        embedded are elsewhere, and take twice the bytes.
        """
        numbers, recent = self._numbers[rows], self._recent
        older = numbers[numbers <= self._index.mark].tolist()
        of, vectors = nearest.vectors(self._reader, self._index, older, self._model.dimension)
        of = np.concatenate([of, recent.number])
        every = np.concatenate([vectors, recent.vectors])
        out: Floats = np.zeros((len(rows), self._model.dimension), dtype=np.float32)
        if len(of):
            at = np.minimum(np.searchsorted(of, numbers), len(of) - 1)
            is_there = of[at] == numbers
            out[is_there] = every[at[is_there]]
        return out

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
        """The vectors above the mark; those that are held already are not read again."""
        numbers = np.sort(self._numbers[self._later])
        before = held.recent
        if before.model != self._model.id:
            before = Recent(self._model.id, vectors=np.zeros((0, self._model.dimension), "f4"))
        new = numbers[~np.isin(numbers, before.number)]
        stays = np.isin(before.number, numbers)
        read = read_vectors(self._reader, self._model, new)
        number = np.concatenate([before.number[stays], new])
        order = np.argsort(number)
        vectors = np.concatenate([before.vectors[stays], read])
        held.recent = Recent(self._model.id, number[order], vectors[order])
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


def _are_in(rows: Codes, others: Codes) -> Mask:
    """Which rows are among others, which ascend."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    at = np.minimum(np.searchsorted(others, rows), len(others) - 1)
    among: Mask = others[at] == rows
    return among


class OutsideMatrix:
    """The vectors as relations may ask for them: rows are read, products need them all.

    ``whole`` gives all of them, which loads the space as if it were small.
    """

    def __init__(self, outside: OutsideVectors, size: int, whole: Callable[[], Matrix]) -> None:
        self._outside = outside
        self._whole = whole
        self.shape = (size, outside._model.dimension)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any, /) -> Any:
        if isinstance(rows, slice):
            return self._outside.exact(np.arange(*rows.indices(len(self))))
        if isinstance(rows, np.ndarray) and rows.ndim:
            return self._outside.exact(np.flatnonzero(rows) if rows.dtype == np.bool_ else rows)
        return self._outside.exact(np.array([int(rows)]))[0]

    def __matmul__(self, other: Any, /) -> Any:
        return self._whole() @ other

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole = np.asarray(self._whole())
        return whole if dtype is None else whole.astype(dtype)
