"""The columns of a space without its terms and vectors, which stay in the database.

They take a tenth of the main memory, and hold all else that a search needs: speakers, times,
sources, kinds and order. So filters, sessions and relations are those of a space in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final

import numpy as np

from treering.arrays import Codes
from treering.journal import blocks, damage, vector_blocks
from treering.journal.space import SpaceReader, SpaceState
from treering.search.relations.contract import RowChange
from treering.search.snapshot import Snapshot
from treering.search.vectors import Block, VectorBlocks
from treering.views.fragments import store
from treering.views.fragments.columns import Column, VectorRows
from treering.views.fragments.segment import EmbeddedRows, segment_of
from treering.views.fragments.table import Table

SLOT_BITS: Final = 16
"""A place is the number of a block, above so many bits for the slot in it."""

_NO_POSTINGS: Final = np.zeros(0, dtype=blocks.POSTING)


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


@dataclass(slots=True, kw_only=True)
class SlimSnapshot(Snapshot):
    """A snapshot without terms and vectors, and the ``places`` of its fragments.

    A place is block and slot as one number; they ascend.
    """

    places: Codes


class SlimTable(Table):
    """The columns of a space but for terms and vectors."""

    def _clear(self, width: int, total: int) -> None:
        self._places = Column(np.int64)
        super()._clear(width, total)
        self._vectors = NoVectors(width)

    def _columns(self) -> tuple[Column[Any], ...]:
        return (*super()._columns(), self._places)

    def _frozen(self, state: SpaceState, change: RowChange | None) -> SlimSnapshot:
        base = super()._frozen(state, change)
        columns = {field.name: getattr(base, field.name) for field in fields(base)}
        return SlimSnapshot(**columns, places=self._places.values)

    def _read(self, reader: SpaceReader, state: SpaceState, *, anew: bool) -> None:
        last = int(self._fragment.values[-1]) if len(self._fragment) else 0
        for block in blocks.after(reader, state.id, last):
            first, rows = blocks.new_rows(reader, block, last)
            with damage.decoding("the search index"), np.errstate(invalid="raise"):
                segment = segment_of(first, rows, _NO_POSTINGS, True)
            slots = first + np.flatnonzero(rows["fragment"] > 0)
            self._places.extend((block.id << SLOT_BITS) + slots)
            if len(segment):
                self._append(segment, partial(store.speaker_of, reader))
        self._read_numbers(reader, state)
        if anew:
            self._reading.rebuild()

    def _read_numbers(self, reader: SpaceReader, state: SpaceState) -> None:
        """Read which fragments are embedded, and the numbers of their vectors."""
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
