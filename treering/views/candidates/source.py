"""Fragments of a space that may be too large for main memory.

Up to a limit all columns are held, and every fragment is scored. Above it, vectors stay in the
database, which finds the nearest fragments by an index. They go into a snapshot like any other, so
the same lines rank it, filter it and relate it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Final

import numpy as np

from treering.arrays import Codes, Floats
from treering.journal import blocks, vector_blocks
from treering.journal.contract import Reader
from treering.journal.postgres import nearest
from treering.journal.postgres.database import PgConnection, PostgresDatabase
from treering.journal.postgres.nearest import VectorIndex
from treering.journal.space import EmbeddingModel, Space, SpaceReader, SpaceState
from treering.records import Progress
from treering.search.snapshot import Snapshot
from treering.search.vectors import Block, Matrix, VectorBlocks
from treering.split import Span
from treering.views.candidates.database_vectors import DRAWN, DatabaseMatrix, DatabaseVectors, Held
from treering.views.fragments import store
from treering.views.fragments.columns import EmbeddedRows, VectorRows
from treering.views.fragments.table import Table

log = logging.getLogger("treering")

MOST_RECENT: Final = 20_000
"""Vectors that may be missing from the index: all of these are scored, and held in main memory."""

LOADED: Final = 2_000
"""Vectors stored at a time before there is an index."""

ADDED: Final = 64
"""Vectors added at a time to an index, half a second of work: an erasure of them waits."""


class NoVectors(VectorRows):
    """One row for each fragment, without a vector."""

    def __init__(self, width: int) -> None:
        super().__init__(width, exact=False)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def matrix(self) -> VectorBlocks:
        """No blocks: a search replaces this matrix."""
        return VectorBlocks([], self.width)

    def extend(self, size: int) -> None:
        """Count rows."""
        self._size += size

    def place(self, rows: Codes, vectors: Block) -> None:
        """The database has them."""

    def remove(self, gone: Codes) -> None:
        """Count rows that went."""
        self._size -= len(gone)


class SlimTable(Table):
    """The columns of a space but for vectors."""

    def _clear(self, width: int, total: int) -> None:
        super()._clear(width, total)
        self._vectors = NoVectors(width)

    def _read_vectors(
        self, reader: SpaceReader, state: SpaceState, beside: Sequence[Callable[[], object]]
    ) -> None:
        """Read which fragments are embedded, and the numbers of their vectors."""
        for task in beside:
            task()
        if state.model is None:
            return
        before = self._last_vector
        empty = Block(np.zeros((0, self._vectors.width), dtype=np.int8), None)
        for block in vector_blocks.after(reader, state.id, state.model, before):
            number, fragment, scale = vector_blocks.read_heads(reader, block)
            is_new = number > before
            if is_new.any():
                mark = int(number[is_new].max())
                directed = np.where(scale[is_new] != 0, number[is_new], 0)
                self._place_vectors(EmbeddedRows(mark, fragment[is_new], directed, empty))
                self._last_vector = max(self._last_vector, mark)


class CandidateSource:
    """The fragments of a space, all of which are held up to ``limit``."""

    def __init__(self, space: Space, loaded: Table, limit: int, drawn: int = DRAWN) -> None:
        self._space = space
        self._loaded = loaded
        self._limit = limit
        self._drawn = drawn
        self._columns = SlimTable(space, room=None)
        self._held = Held()
        self._is_large = False  # at the last search
        self._has_warned = False

    def reading(self) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """See ``FragmentSource``: all columns, however large."""
        return self._loaded.reading()

    @contextmanager
    def searching(self) -> Iterator[tuple[SpaceReader, Snapshot | None]]:
        """See ``FragmentSource``."""
        if self._is_large or self._count() > self._limit:
            with self._columns.reading() as (reader, snapshot):
                index = _index(reader)
                self._is_large = snapshot is not None and len(snapshot) > self._limit
                if self._is_large and index is not None and snapshot is not None:
                    assert snapshot.vector_number is not None  # the columns of a space have them
                    later = np.flatnonzero(snapshot.vector_number > index.mark)
                    if len(later) <= MOST_RECENT:
                        self._loaded.release()
                        yield reader, self._with_candidates(reader, snapshot, index, later)
                        return
            self._warn()
        with self._loaded.reading() as whole:
            yield whole

    def exact(self, reader: SpaceReader, model: EmbeddingModel, numbers: Codes) -> Floats:
        """See ``FragmentSource``."""
        return store.read_vectors(reader, model, numbers)

    def spans(self, reader: SpaceReader, fragments: Sequence[int]) -> dict[int, Span]:
        """See ``FragmentSource``."""
        return store.locate(reader, fragments)

    def settle(self, progress: Progress | None = None) -> None:
        """Let the database index the vectors of a space that is too large to be held.

        Raises JournalError if it cannot.
        """
        if self._count() > self._limit:
            _fill(self._space, progress)

    def _count(self) -> int:
        with self._space.read() as reader:
            return blocks.count(reader, reader.id)

    def _warn(self) -> None:
        if self._is_large and not self._has_warned:
            self._has_warned = True
            log.warning(
                "space %r has more than %d fragments, and all are held in main memory until "
                "settle() has let the database index their vectors",
                self._space.name,
                self._limit,
            )

    def _with_candidates(
        self, reader: SpaceReader, snapshot: Snapshot, index: VectorIndex, later: Codes
    ) -> Snapshot:
        """The snapshot of a search, with vectors from the database."""
        vectors = DatabaseVectors(reader, snapshot, index, later, self._held, self._drawn)
        matrix = DatabaseMatrix(vectors, len(snapshot), self._all_vectors)
        items = replace(snapshot.items, vectors=matrix)
        return replace(snapshot, items=items, cosines=vectors)

    def _all_vectors(self) -> Matrix:
        """All vectors, as of the transaction that this thread is in."""
        log.warning(
            "a relation needs all vectors of space %r, which are loaded for it", self._space.name
        )
        with self._loaded.reading() as (_, snapshot):
            assert snapshot is not None  # candidates were found in it
            return snapshot.items.vectors


def _index(reader: SpaceReader) -> VectorIndex | None:
    """The index of the space for the current model, if there is one."""
    return None if reader.model is None else nearest.open_index(reader, reader.id, reader.model.id)


def _fill(space: Space, progress: Progress | None = None) -> None:
    """Put all vectors of a space into the index, creating it if necessary.

    Return at once if another process does so. Raises JournalError.
    """
    database = space.database
    assert isinstance(database, PostgresDatabase)  # the only one that has such an index
    with space.read() as reader:
        number, model = reader.id, reader.model
    if model is None:
        return
    nearest.ensure_fits(model.dimension)
    with (
        database.connection() as (connection, schema),
        nearest.fill_lock(connection, schema) as is_ours,
    ):
        if not is_ours:
            return
        nearest.drop_others(connection, number, [model.id])
        is_indexed = nearest.has_index(connection, number, model.id)
        _add(space, connection, number, model, ADDED if is_indexed else LOADED, progress)
        if not is_indexed:
            nearest.make_index(connection, number, model.id, model.dimension)
            _add(space, connection, number, model, ADDED, progress)


def _add(
    space: Space,
    connection: PgConnection,
    number: int,
    model: EmbeddingModel,
    size: int,
    progress: Progress | None,
) -> None:
    """Put the vectors into the table that are not in it yet, so many at a time."""
    mark = nearest.highest(connection, number, model.id)
    done = 0
    while True:
        with space.read() as reader:
            heads = _heads_after(reader, number, model, mark, size)
            if not len(heads):
                return
            directed = heads[heads[:, 2] != 0]
            vectors = store.read_vectors(reader, model, directed[:, 0])
            left = vector_blocks.count_after(reader, number, model, mark) if progress else 0
        numbers, fragments = directed[:, 0].tolist(), directed[:, 1].tolist()
        nearest.insert(connection, number, model.id, numbers, fragments, vectors)
        mark = int(heads[-1, 0])
        done += len(heads)
        if progress:
            progress(done, done + max(left - len(heads), 0))


def _heads_after(reader: Reader, space: int, model: EmbeddingModel, mark: int, size: int) -> Codes:
    """Number, fragment, and 1 if it has a direction, of the next vectors above a mark; (n, 3)."""
    stored = sorted(vector_blocks.after(reader, space, model, mark), key=lambda block: block.oldest)
    heads = np.zeros((0, 3), dtype=np.int64)
    for block in stored:
        if len(heads) >= size and block.oldest > heads[size - 1, 0]:
            break
        number, fragment, scale = vector_blocks.read_heads(reader, block)
        new = np.stack([number, fragment, scale != 0], axis=1)[number > mark]
        heads = np.concatenate([heads, new])
        heads = heads[np.argsort(heads[:, 0])]
    return heads[:size]
