"""The fragments of one space in memory, as columns, kept in step with the database."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.journal import damage
from treering.journal.contract import Row
from treering.journal.space import EmbeddingModel, Space, SpaceReader, SpaceState
from treering.records import KINDS
from treering.search.lexical import Lexical
from treering.search.relations.contract import MISSING, Items
from treering.search.snapshot import Snapshot
from treering.search.times import carried
from treering.split import Span
from treering.views.fragments import store

GROWTH = 1.125  # spare room when a column must grow: few copies, and 12 % at most unused
LOAD_ROWS = 2_048  # rows turned into columns at a time: the Python objects stay few
SESSION_GAP_S = 4 * 3600.0
"""A silence after which a chat without session names is taken to begin a new session."""

T = TypeVar("T", bound=np.generic)
K = TypeVar("K")

_versions = count(1)
_KIND_CODES = {name: code for code, name in enumerate(KINDS)}


class Column(Generic[T]):
    """An array that grows at its end."""

    def __init__(self, dtype: type[T], width: int | None = None) -> None:
        self._tail = () if width is None else (width,)
        self._data: NDArray[T] = np.zeros((0, *self._tail), dtype=dtype)
        self._size = 0

    @property
    def values(self) -> NDArray[T]:
        """The filled part; a view, valid until the column grows."""
        return self._data[: self._size]

    def reserve(self, total: int) -> None:
        """Make room for exactly ``total`` rows, if there is less."""
        if total > len(self._data):
            larger = np.zeros((total, *self._tail), dtype=self._data.dtype)
            larger[: self._size] = self.values
            self._data = larger

    def extend(self, rows: NDArray[Any] | Sequence[Any] | int) -> None:
        """Append rows, or as many zero rows as the number says."""
        added = rows if isinstance(rows, int) else len(rows)
        total = self._size + added
        if total > len(self._data):
            self.reserve(max(total, int(self._size * GROWTH)))
        self._data[self._size : total] = 0 if isinstance(rows, int) else rows
        self._size = total

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the rows that are False."""
        self._data = self._data[: self._size][mask]
        self._size = len(self._data)


class Table:
    """The columns of a space. ``reading`` refreshes them first; safe to call from any thread."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._lock = threading.Lock()
        self._state: SpaceState | None = None
        self._snapshot: Snapshot | None = None
        self._clear(width=0)

    @contextmanager
    def reading(self) -> Iterator[tuple[SpaceReader, Snapshot | None]]:
        """A read transaction and the table as of it; None while nothing was added to the space."""
        with ExitStack() as stack:
            with self._lock:  # else a thread might bring an older state than the table has
                reader = stack.enter_context(self._space.read())
                snapshot = self._snapshot_of(reader, reader.state) if reader.id else None
            yield reader, snapshot

    def spans(self, reader: SpaceReader, fragments: Sequence[int]) -> dict[int, Span]:
        """Start and stop of fragments in the texts of their entries, by id."""
        return store.locate(reader, fragments)

    def _snapshot_of(self, reader: SpaceReader, state: SpaceState) -> Snapshot:
        if self._state is not None and state.revision < self._state.revision:
            # Inside a transaction that the thread began earlier: a table of its own.
            return Table(self._space)._snapshot_of(reader, state)
        previous, self._state = self._state, None  # what an error leaves behind is loaded anew
        if previous is None or (previous.model, previous.edition) != (state.model, state.edition):
            self._load(reader, state)
        elif previous.revision != state.revision:
            self._update(reader, state)
        self._state = state
        if self._snapshot is None:
            self._snapshot = self._freeze(state)
        return self._snapshot

    def _clear(self, width: int) -> None:
        self._fragment = Column(np.int64)
        self._entry = Column(np.int64)
        self._start = Column(np.int32)
        self._source = Column(np.int32)
        self._position = Column(np.int32)
        self._at = Column(np.float64)
        self._speaker = Column(np.int32)
        self._session = Column(np.int32)
        self._kind = Column(np.int8)
        self._vectors = Column(np.float32, width)
        self._embedded = Column(np.bool_)
        self._lexical = Lexical()
        self._speakers: dict[str, int] = {}
        self._sessions: dict[tuple[int, str], int] = {}
        self._last_vector = 0
        self._last_gone = 0
        self._snapshot = None

    def _columns(self) -> tuple[Column[Any], ...]:
        return (
            self._fragment,
            self._entry,
            self._start,
            self._source,
            self._position,
            self._at,
            self._speaker,
            self._session,
            self._kind,
            self._vectors,
            self._embedded,
        )

    def _load(self, reader: SpaceReader, state: SpaceState) -> None:
        self._clear(width=state.model.dimension if state.model else 0)
        total = store.count(reader, state.id)
        for column in self._columns():
            column.reserve(total)
        self._last_gone = store.last_gone(reader, state.id)
        self._read(reader, state)

    def _update(self, reader: SpaceReader, state: SpaceState) -> None:
        self._last_gone, gone = store.gone_since(reader, state.id, self._last_gone)
        if gone:
            mask = ~np.isin(self._fragment.values, gone)
            for column in self._columns():
                column.keep(mask)
            self._lexical = self._lexical.kept(mask)
        self._read(reader, state)
        self._snapshot = None

    def _read(self, reader: SpaceReader, state: SpaceState) -> None:
        """Take in the fragments and vectors that are new in the database."""
        last = int(self._fragment.values[-1]) if len(self._fragment.values) else 0
        rows = store.rows(reader, state.id, last)
        while chunk := list(islice(rows, LOAD_ROWS)):
            # What is too large for a column raises too, where numpy would only warn.
            with damage.decoding("the search index"), np.errstate(invalid="raise"):
                self._append(chunk)
        if state.model is not None:
            vectors = store.vectors(reader, state.id, state.model, self._last_vector)
            while chunk := list(islice(vectors, LOAD_ROWS)):
                self._place_vectors(chunk, state.model)

    def _append(self, rows: Sequence[Row]) -> None:
        fragment, entry, start, source, position, at, speaker, session, kind, terms = zip(
            *rows, strict=True
        )
        for name in {*speaker, *session} - {None}:
            damage.checked(str, name)
        self._fragment.extend(fragment)
        self._entry.extend(entry)
        self._start.extend(start)
        self._source.extend(source)
        self._position.extend(position)
        self._at.extend([np.nan if stamp is None else stamp / 1e6 for stamp in at])
        self._speaker.extend(_codes(speaker, self._speakers))
        named = [
            None if name is None else (of, name) for of, name in zip(source, session, strict=True)
        ]
        self._session.extend(_codes(named, self._sessions))
        self._kind.extend([_KIND_CODES[name] for name in kind])
        self._vectors.extend(len(rows))
        self._embedded.extend(len(rows))
        sizes = np.array([len(blob) // 8 for blob in terms], dtype=np.int64)
        flat = np.frombuffer(b"".join(terms), dtype="<u4").reshape(-1, 2)
        self._lexical = self._lexical.extended(flat, sizes)

    def _place_vectors(self, chunk: Sequence[Row], model: EmbeddingModel) -> None:
        identities, fragments, data = zip(*chunk, strict=True)
        vectors = store.to_vectors(data, model.dimension)
        with damage.decoding("the search index"):
            places = np.searchsorted(self._fragment.values, fragments)
            if (self._fragment.values[places] != fragments).any():
                raise ValueError("a vector of no fragment")
        self._vectors.values[places] = vectors
        self._embedded.values[places] = True
        self._last_vector = identities[-1]

    def _freeze(self, state: SpaceState) -> Snapshot:
        source = self._source.values.astype(np.int64)
        order = np.lexsort((self._start.values, self._position.values, source))
        kind = self._kind.values.copy()
        fragment = self._fragment.values.copy()
        items = Items(
            document=source,
            position=_ranks(order, source),
            session=_sessions(order, source, self._session.values, self._at.values, kind),
            speaker=self._speaker.values.astype(np.int64),
            at=self._at.values.copy(),
            vectors=self._vectors.values,
            fragment=fragment,
        )
        return Snapshot(
            fragment=fragment,
            entry=self._entry.values.copy(),
            kind=kind,
            items=items,
            lexical=self._lexical,
            embedded=self._embedded.values.copy(),
            speakers=tuple(self._speakers),
            kinds=tuple(KINDS[code] for code in np.unique(kind)),
            version=next(_versions),
            state=state,
        )


def _codes(names: Sequence[K | None], codes: dict[K, int]) -> list[int]:
    """A number for each name, new ones counted on; MISSING for None."""
    for name in dict.fromkeys(names):
        if name is not None and name not in codes:
            codes[name] = len(codes)
    return [MISSING if name is None else codes[name] for name in names]


def _ranks(order: Codes, source: Codes) -> Codes:
    """The place of each fragment within its source, from 0, given the reading order."""
    sorted_source = source[order]
    starts = np.flatnonzero(np.diff(sorted_source, prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    return ranks


def _sessions(
    order: Codes,
    source: Codes,
    named: NDArray[np.int32],
    at: NDArray[np.float64],
    kind: NDArray[np.int8],
) -> Codes:
    """Session codes: as named, else for chats cut at silences, else MISSING.

    What has no time was said when its neighbours in the same source were.
    """
    new = np.diff(source[order], prepend=-1) != 0
    in_order = carried(at[order], np.cumsum(new))
    new[1:] |= np.diff(in_order) > SESSION_GAP_S
    counted = np.empty(len(order), dtype=np.int64)
    counted[order] = np.cumsum(new) + int(named.max(initial=MISSING))
    timed = np.empty(len(order), dtype=np.bool_)
    timed[order] = ~np.isnan(in_order)
    chat = (kind == KINDS.index("chat")) & timed
    return np.where(named != MISSING, named, np.where(chat, counted, MISSING)).astype(np.int64)
