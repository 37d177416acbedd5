"""The fragments of one space in memory, as columns, kept in step with the database.

Adding one turn moves stretches of small columns: nothing is sorted, and only the postings and
vectors of the turn's own block are touched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, are_among, do_all, for_each, union
from treering.journal import blocks, damage, vector_blocks
from treering.journal.blocks import Rows
from treering.journal.space import EmbeddingModel, Space, SpaceReader, SpaceState
from treering.journal.vector_blocks import VectorBlock
from treering.records import KINDS, Progress
from treering.search.lexical import Lexical
from treering.search.postings import PostingRun
from treering.search.relations.contract import MISSING, Items, RowChange
from treering.search.snapshot import Names, Snapshot
from treering.search.stored import Metadata, SpaceColumns
from treering.split import Span
from treering.views.fragments import store
from treering.views.fragments.columns import ROOM, Column, EmbeddedRows, Room, VectorRows
from treering.views.fragments.order import PlacedColumns, Reading

EXACT_ROWS = 20_000
"""Up to so many fragments the vectors stay floats: they are small, and the best ones are rescored
without reading the database."""

_versions = count(1)


class Table:
    """The columns of a space, as long as the process has ``room`` for them (None for no bound).

    ``reading`` refreshes them first; safe to call from any thread. The vectors of a space of over
    ``exact_rows`` fragments have eight bits.
    """

    def __init__(
        self,
        space: Space,
        exact_rows: int = EXACT_ROWS,
        room: Room | None = ROOM,
    ) -> None:
        self._space = space
        self._exact_rows = exact_rows
        self._room = room
        self._lock = threading.Lock()
        self._state: SpaceState | None = None
        self._snapshot: Snapshot | None = None
        self._clear(width=0, total=0)

    @property
    def is_loaded(self) -> bool:
        """Whether the columns are in memory."""
        return self._state is not None

    @contextmanager
    def reading(self) -> Iterator[tuple[SpaceReader, Snapshot | None]]:
        """A read transaction, and the table at its state; None if nothing was ever added."""
        with ExitStack() as stack:
            with self._lock:  # else a thread might bring an older state than the table has
                reader = stack.enter_context(self._space.read())
                snapshot = self._snapshot_of(reader, reader.state) if reader.id else None
            if self._room is not None:
                self._room.use(self, 0 if snapshot is None else len(snapshot))
            yield reader, snapshot

    def release(self) -> None:
        """Drop the columns, unless they are being loaded. A search under way keeps its snapshot."""
        if self._lock.acquire(blocking=False):
            try:
                self._state = None
                self._clear(width=0, total=0)
            finally:
                self._lock.release()

    def searching(self) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """See ``FragmentSource``: the columns serve every search."""
        return self.reading()

    def settle(self, progress: Progress | None = None) -> None:
        """See ``FragmentSource``: nothing is left to do."""

    def spans(self, reader: SpaceReader, fragments: Sequence[int]) -> dict[int, Span]:
        """Start and stop of fragments in the texts of their entries, by id."""
        return store.locate(reader, fragments)

    def exact(self, reader: SpaceReader, model: EmbeddingModel, numbers: Codes) -> Floats:
        """See ``FragmentSource``."""
        return store.read_vectors(reader, model, numbers)

    def _snapshot_of(self, reader: SpaceReader, state: SpaceState) -> Snapshot:
        if self._state is not None and state.revision < self._state.revision:
            # The thread began its transaction before the table's last update. It gets its own
            # table: the shared one must not go back.
            other = type(self)(self._space, self._exact_rows, None)
            return other._snapshot_of(reader, state)
        previous, self._state = self._state, None  # after an error everything is loaded again
        if previous is None or (previous.model, previous.edition) != (state.model, state.edition):
            self._load(reader, state)
        elif previous.revision != state.revision:
            self._update(reader, state)
        elif self._snapshot is not None and previous != state:
            self._snapshot = self._frozen(state, None)
        self._state = state
        assert self._snapshot is not None  # made by loading
        return self._snapshot

    def _clear(self, width: int, total: int) -> None:
        self._fragment = Column(np.int64)
        self._entry = Column(np.int64)
        self._speaker = Column(np.int32)
        self._zone = Column(np.int16)
        self._embedded = Column(np.bool_)
        self._vector_number = Column(np.int64)
        self._placed = PlacedColumns.empty()
        for column in self._columns():
            column.reserve(total)
        self._reading = Reading(self._placed)
        self._vectors = VectorRows(width, exact=total <= self._exact_rows)
        self._lexical = Lexical()
        self._names = Names()
        self._metadata = Metadata()
        self._last_vector = 0
        self._last_gone = 0
        self._shown = 0  # rows that readers may have seen in the columns as they are
        self._snapshot = None

    def _columns(self) -> tuple[Column[Any], ...]:
        placed = self._placed
        return (
            self._fragment,
            self._entry,
            self._speaker,
            self._zone,
            self._embedded,
            self._vector_number,
            placed.source,
            placed.position,
            placed.start,
            placed.at,
            placed.named,
            placed.kind,
        )

    def _load(self, reader: SpaceReader, state: SpaceState) -> None:
        width = state.model.dimension if state.model else 0
        self._clear(width, blocks.count(reader, state.id))
        self._last_gone = store.last_gone(reader, state.id)
        self._read(reader, state, anew=True)
        self._snapshot = self._frozen(state, None)

    def _update(self, reader: SpaceReader, state: SpaceState) -> None:
        assert self._snapshot is not None  # made by loading
        before = self._snapshot.version
        # If no search has the snapshot, each copied column leaves its memory to the next one: else
        # there would be two of all of them.
        self._snapshot = None
        gone, behind = self._drop(reader, state)
        size = len(self._fragment)
        self._read(reader, state, anew=False)
        added = len(self._fragment) - size
        places = self._reading.add() if added else np.zeros(0, dtype=np.int64)
        places = union(places, self._reading.places_of(behind))
        self._snapshot = self._frozen(state, RowChange(before, gone, added, places))

    def _drop(self, reader: SpaceReader, state: SpaceState) -> tuple[Codes, Codes]:
        """Remove erased rows; return them, and the remaining rows beside them."""
        self._last_gone, erased = store.gone_since(reader, state.id, self._last_gone)
        gone = self._rows_of(union(np.array(erased, dtype=np.int64)))
        if not len(gone):
            return gone, gone
        removal = self._reading.remove(gone)
        self._shown = 0  # the columns are copied
        removals = [partial(column.remove, gone) for column in self._columns()]
        do_all([partial(self._vectors.remove, gone), *removals], len(self._fragment))
        self._lexical = self._lexical.shrunk(gone)
        self._metadata = self._metadata.without(gone)
        return gone, self._reading.finish_removal(*removal)

    def _rows_of(self, fragments: Codes) -> Codes:
        """The rows of the fragments, given ascending, that the table has."""
        here = fragments[are_among(fragments, self._fragment.values)]
        return np.searchsorted(self._fragment.values, here)

    def _read(self, reader: SpaceReader, state: SpaceState, *, anew: bool) -> None:
        """Read the fragments and vectors that are new in the database.

        If ``anew``, all are new, and their reading order is built while the vectors are read.
        """
        last = int(self._fragment.values[-1]) if len(self._fragment) else 0
        self._read_fragments(reader, state, last)
        self._read_vectors(reader, state, [self._reading.rebuild] if anew else [])
        is_large = len(self._vectors) > 2 * self._exact_rows
        if self._vectors.exact and is_large:
            self._vectors = self._vectors.quantise()

    def _read_fragments(self, reader: SpaceReader, state: SpaceState, last: int) -> None:
        """Read the fragments with ids above ``last``, block by block.

        One thread reads a block while another converts one to columns; they are appended in order.
        """
        stored = blocks.after(reader, state.id, last)
        connection, taking_in = threading.Lock(), threading.Lock()
        waiting: dict[int, tuple[Rows, PostingRun]] = {}
        numbers = iter(range(len(stored)))
        next_ = next(numbers, None)

        def speaker_of(entry: int) -> str:
            with connection:
                return store.speaker_of(reader, entry)

        def take_in(at: int) -> None:
            nonlocal next_
            with connection:
                read = store.stored_rows(reader, stored[at], last)
            sound = store.sound_rows(stored[at], *read)
            with taking_in:
                waiting[at] = sound
                while next_ in waiting:
                    self._append(*waiting.pop(next_), speaker_of)
                    next_ = next(numbers, None)

        for_each(take_in, len(stored), sum(block.living for block in stored))

    def _append(self, rows: Rows, run: PostingRun, speaker_of: Callable[[int], str]) -> None:
        """Append fragments, whose vectors are read later.

        ``speaker_of`` reads the speaker of an entry if its name is new.
        """
        placed, names = self._placed, self._names
        with damage.decoding("the search index"):
            speaker = names.speakers_of(rows["entry"], rows["speaker"], speaker_of)
        at = rows["at"] / 1e6
        at[rows["at"] == blocks.NEVER] = np.nan
        self._speaker.extend(speaker)
        self._embedded.extend(np.zeros(len(rows), dtype=np.bool_))
        self._vector_number.extend(np.zeros(len(rows), dtype=np.int64))
        self._fragment.extend(rows["fragment"])
        self._entry.extend(rows["entry"])
        self._zone.extend(rows["zone"])
        placed.source.extend(rows["source"])
        placed.position.extend(rows["position"])
        placed.start.extend(rows["start"])
        placed.at.extend(at)
        placed.named.extend(names.sessions_of(rows["source"].astype(np.int32), rows["session"]))
        placed.kind.extend(rows["kind"])
        self._lexical = self._lexical.grown(run, rows["length"])
        self._vectors.extend(len(rows))

    def _read_vectors(
        self, reader: SpaceReader, state: SpaceState, beside: Sequence[Callable[[], object]]
    ) -> None:
        """Read the new vectors, and run the tasks of ``beside`` meanwhile.

        One thread reads a block while another copies one. So only two blocks take memory at a
        time, and their memory is used again.
        """
        model, last, exact = state.model, self._last_vector, self._vectors.exact
        blocks = vector_blocks.after(reader, state.id, model, last) if model else []
        marks = [last]
        connection = threading.Lock()

        def take_in(block: VectorBlock) -> None:
            assert model is not None  # needed for blocks
            with connection:
                rows = store.embedded_rows(reader, model, block, last, exact=exact)
            if rows is not None:
                self._place_vectors(rows)
                marks.append(rows.mark)

        # Rows that no reader has seen are written in place, in any order; others are copied. After
        # a removal the columns are new, but searches may have seen the vectors.
        is_shown = self._shown or self._vectors.is_shown
        do_all(
            [*beside, *(partial(take_in, block) for block in blocks)],
            0 if is_shown else len(self._fragment),
        )
        self._last_vector = max(marks)

    def _place_vectors(self, rows: EmbeddedRows) -> None:
        at = self._rows_embedded(rows.fragment)
        self._vectors.place(at, rows.vectors)
        if len(at) and at[0] >= self._shown:
            self._embedded.values[at] = True
            self._vector_number.values[at] = rows.number
        else:
            self._embedded.set(at, True)
            self._vector_number.set(at, rows.number)

    def _rows_embedded(self, fragments: Codes) -> Codes:
        """The rows of fragments, all of which the table has. Raises JournalCorrupt."""
        values = self._fragment.values
        if len(fragments):
            # The fragments of a block are mostly consecutive: then one look-up is enough.
            first = int(values.searchsorted(fragments[0]))
            if np.array_equal(values[first : first + len(fragments)], fragments):
                return np.arange(first, first + len(fragments))
        with damage.decoding("the search index"):
            places = np.searchsorted(values, fragments)
            if (values[places] != fragments).any():
                raise ValueError("a vector of no fragment")
        return places

    def _frozen(self, state: SpaceState, change: RowChange | None) -> Snapshot:
        self._shown = len(self._fragment)
        placed = self._placed
        fragment, kind = self._fragment.values, placed.kind.values
        items = Items(
            document=placed.source.values,
            position=self._reading.rank.values,
            session=self._reading.session.values,
            speaker=self._speaker.values,
            at=placed.at.values,
            vectors=self._vectors.matrix(),
            fragment=fragment,
            reading=self._reading.order(),
            message=_messages(self._entry.values, kind),
            stored=SpaceColumns(
                self._space,
                self._entry.values,
                placed.source.values,
                self._lexical,
                self._metadata,
            ),
        )
        return Snapshot(
            fragment=fragment,
            entry=self._entry.values,
            kind=kind,
            zone=self._zone.values,
            items=items,
            lexical=self._lexical,
            embedded=self._embedded.values,
            speakers=tuple(self._names.speakers),
            kinds=tuple(name for code, name in enumerate(KINDS) if (kind == code).any()),
            version=next(_versions),
            state=state,
            vector_number=self._vector_number.values,
            change=change,
            named=placed.named.values,
            names=self._names,
            metadata=self._metadata,
        )


def _messages(entry: Codes, kind: NDArray[np.int8]) -> Codes:
    """The entries of chats; MISSING for other texts."""
    is_message = kind == KINDS.index("chat")
    return entry if is_message.all() else np.where(is_message, entry, MISSING)
