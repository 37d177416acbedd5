"""Fragments of a space that may be too large for main memory.

Up to a limit all columns are held, and every fragment is scored. Above it, terms and vectors stay
in the database: it finds the nearest fragments by an index, and has the postings of the query's
words. Both go into a snapshot like any other, so the same lines rank it, filter it and relate it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

import numpy as np

from treering.arrays import Codes, Floats
from treering.journal.postgres import nearest
from treering.journal.postgres.nearest import VectorIndex
from treering.journal.space import EmbeddingModel, Space, SpaceReader
from treering.records import Progress
from treering.search.relations.contract import Matrix
from treering.search.snapshot import Snapshot
from treering.search.terms import Terms
from treering.split import Span
from treering.views.candidates import fill
from treering.views.candidates.columns import SlimSnapshot, SlimTable
from treering.views.candidates.outside import Held, OutsideMatrix, OutsideVectors, read_vectors
from treering.views.candidates.postings import TermReader
from treering.views.candidates.sample import DRAWN
from treering.views.fragments import store
from treering.views.fragments.held import HeldTable

log = logging.getLogger("treering")

MOST_RECENT = 20_000
"""Vectors that may be missing from the index: all of these are scored, and held in main memory."""


class CandidateSource:
    """The fragments of a space, all of which are held up to ``limit``."""

    def __init__(self, space: Space, loaded: HeldTable, limit: int, drawn: int = DRAWN) -> None:
        self._space = space
        self._loaded = loaded
        self._limit = limit
        self._drawn = drawn
        self._columns = SlimTable(space)
        self._terms = TermReader()
        self._held = Held()
        self._later: tuple[tuple[int, int], Codes] = ((-1, -1), np.zeros(0, dtype=np.int64))
        self._was_ready = False  # at the last search; whether it is, is then seen on the way
        self._has_warned = False

    def reading(self) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """See ``FragmentSource``: all columns, whatever room they take."""
        return self._loaded.reading()

    @contextmanager
    def searching(self, queries: Sequence[Terms]) -> Iterator[tuple[SpaceReader, Snapshot | None]]:
        """See ``FragmentSource``."""
        if not self._was_ready and not self._is_ready():
            with self._loaded.searching(queries) as (reader, snapshot):
                yield reader, snapshot
            return
        self._loaded.release()
        with self._columns.reading() as (reader, snapshot):
            indexed = self._indexed(reader, snapshot)
            self._was_ready = indexed is not None
            if indexed is not None and isinstance(snapshot, SlimSnapshot):
                yield reader, self._found(reader, snapshot, *indexed, queries)
                return
        with self._loaded.searching(queries) as whole:  # the index went, or fell far behind
            yield whole

    def exact(self, reader: SpaceReader, model: EmbeddingModel, numbers: Codes) -> Floats:
        """See ``FragmentSource``."""
        return read_vectors(reader, model, numbers)

    def spans(self, reader: SpaceReader, fragments: Sequence[int]) -> dict[int, Span]:
        """See ``FragmentSource``."""
        return store.locate(reader, fragments)

    def settle(self, progress: Progress | None = None) -> None:
        """Let the database index the vectors of a space that is too large to be held.

        Raises JournalError if it cannot.
        """
        with self._space.read() as reader:
            is_large = store.count(reader, reader.id) > self._limit
        if is_large:
            fill.fill(self._space, progress)

    def _is_ready(self) -> bool:
        """Whether the space is too large to be held, and the database can find candidates."""
        with self._space.read() as reader:
            if store.count(reader, reader.id) <= self._limit:
                return False
            index, model = _index(reader), reader.model
            if index is not None and model is not None:
                recent = store.count_vectors_after(reader, reader.id, model, index.mark)
                if recent <= MOST_RECENT:
                    return True
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "space %r has more than %d fragments, and all are held in main memory until "
                "settle() has let the database index their vectors",
                self._space.name,
                self._limit,
            )
        return False

    def _indexed(
        self, reader: SpaceReader, snapshot: Snapshot | None
    ) -> tuple[VectorIndex, Codes] | None:
        """The index of a space that is too large to be held, and the rows that are not in it yet.

        None if these are too many.
        """
        index = _index(reader)
        if index is None or snapshot is None or len(snapshot) <= self._limit:
            return None
        later = self._later_than(index, snapshot)
        return (index, later) if len(later) <= MOST_RECENT else None

    def _later_than(self, index: VectorIndex, snapshot: Snapshot) -> Codes:
        """The rows that are not in the index; found once for each state of both."""
        state = snapshot.version, index.mark
        before, later = self._later
        if state != before:
            numbers = snapshot.vector_number
            assert numbers is not None  # the columns of a space have them
            later = np.flatnonzero(numbers > index.mark)
            self._later = state, later
        return later

    def _found(
        self,
        reader: SpaceReader,
        snapshot: SlimSnapshot,
        index: VectorIndex,
        later: Codes,
        queries: Sequence[Terms],
    ) -> Snapshot:
        """The snapshot of a search, which has what the database finds for the queries."""
        asked = np.unique(np.concatenate([np.zeros(0, np.uint32), *(q[:, 0] for q in queries)]))
        lexical = snapshot.lexical.reading(self._terms.of(reader, snapshot.places))
        lexical.rarity(asked.tolist())  # reads what all that follows asks for, at once
        outside = OutsideVectors(reader, snapshot, index, later, self._held, self._drawn)
        vectors = OutsideMatrix(outside, len(snapshot), self._all_vectors)
        return replace(
            snapshot,
            items=replace(snapshot.items, vectors=vectors),
            lexical=lexical,
            outside=outside,
        )

    def _all_vectors(self) -> Matrix:
        """All vectors, as of the transaction that this thread is in."""
        log.warning(
            "a relation needs all vectors of space %r, which are loaded for it", self._space.name
        )
        with self._loaded.reading() as (_, snapshot):
            assert snapshot is not None  # candidates were found in it
            return snapshot.items.vectors


def _index(reader: SpaceReader) -> VectorIndex | None:
    """The index of the space and the model that answers; None if there is none."""
    return None if reader.model is None else nearest.opened(reader, reader.id, reader.model.id)
