"""The postings of a query's terms, read from the blocks of a space.

A full block is sorted by term and stored in pieces. The first term of each piece shows which pieces
may have a term; these stay in main memory, two bytes a fragment. So a query reads a few kilobytes a
block and term, and the same code as for other spaces scores them. Common words come again: postings
of full blocks stay in memory up to ``ROOM``.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.journal import blocks, damage
from treering.journal.blocks import POSTING, FragmentBlock, Postings
from treering.journal.contract import Value
from treering.journal.postgres.pieces import PIECE
from treering.journal.space import SpaceReader, SpaceState
from treering.search.postings import RowCounts
from treering.views.candidates.heads import (
    PieceHeads,
    TermCodes,
    decode,
)

SLOT_BITS: Final = 16
"""A place is the number of a block, above so many bits for the slot in it."""

ROOM: Final = 64 << 20
"""Bytes of postings in main memory: two thirds of those of a million turns of seventeen words."""

A_TERM: Final = 400
"""Bytes of a term beside its postings."""

_MOST_SLOTS: Final = 1 << SLOT_BITS

_NOTHING: Final = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint16)

_Stand = tuple[int, int]
"""Number and count of a full block's postings: a rebuild changes them before it ends."""

# One range a row; several ranges of a block do not overlap. Each is found by the key, and comes as
# one row: common words have thousands of pieces.
_PIECES: Final = """
    SELECT p.data
    FROM unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[]), CAST(? AS BIGINT[])) WITH ORDINALITY
        AS w (id, low, stop, number)
    CROSS JOIN LATERAL (
        SELECT string_agg(data, CAST('' AS BYTEA)) AS data FROM (
            SELECT data FROM block_postings
            WHERE space = ? AND id = w.id AND piece >= w.low AND piece < w.stop ORDER BY piece
        ) AS pieces
    ) AS p ORDER BY w.number
"""
_HEADS: Final = """
    SELECT id, string_agg(head, CAST('' AS BYTEA) ORDER BY piece) FROM block_postings
    WHERE space = ? AND id IN (SELECT value FROM json_each(?)) AND length(head) = 4 GROUP BY id
"""


@dataclass(frozen=True, slots=True)
class _Newest:
    """The postings of the block that is not full, as of a state of the space.

    ``stored`` are those of the block; the other columns are sorted by term.
    """

    block: FragmentBlock
    edition: int
    revision: int
    stored: Postings
    term: TermCodes
    rows: NDArray[np.int32]
    counts: NDArray[np.uint16]

    def postings(self, terms: TermCodes) -> list[RowCounts]:
        """The postings of some terms."""
        low, stop = (np.searchsorted(self.term, terms, side) for side in ("left", "right"))
        return [
            RowCounts(self.rows[first:last], self.counts[first:last])
            for first, last in zip(low.tolist(), stop.tolist(), strict=True)
        ]


class HeldTerms:
    """The postings of the latest terms. Safe to use from many threads.

    They belong to one state of the blocks; another state drops them all.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._lock = threading.Lock()  # protects what follows
        self._state: Hashable = None
        self._held: OrderedDict[int, RowCounts] = OrderedDict()
        self.size = 0  # bytes

    def get(self, state: Hashable, terms: Sequence[int]) -> dict[int, RowCounts]:
        """The postings in memory of some terms at a state."""
        with self._lock:
            if state != self._state:
                return {}
            held = {term: self._held[term] for term in terms if term in self._held}
            for term in held:
                self._held.move_to_end(term)
            return held

    def hold(self, state: Hashable, postings: Mapping[int, RowCounts]) -> None:
        """Remember postings of a state, dropping those that were used longest ago."""
        with self._lock:
            if state != self._state:
                self._state, self.size = state, 0
                self._held.clear()
            for term, rows in postings.items():
                if term not in self._held:
                    self._held[term] = rows
                    self.size += _size(rows)
            while self.size > self._room:
                self.size -= _size(self._held.popitem(last=False)[1])


def _size(rows: RowCounts) -> int:
    return A_TERM + rows.rows.nbytes + rows.counts.nbytes


class TermReader:
    """Reads the postings of terms of one space. Safe to use from many threads.

    ``room`` bounds the bytes of postings in main memory.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._held = HeldTerms(room)
        self._lock = threading.Lock()  # protects what follows
        self._edition = -1
        self._firsts: dict[_Stand, TermCodes] = {}
        self._heads: tuple[Sequence[_Stand], PieceHeads] = ((), PieceHeads.from_first_terms([]))
        self._newest: _Newest | None = None
        self._blocks: tuple[int, Sequence[FragmentBlock]] = (-1, ())  # of a revision

    def at_places(self, reader: SpaceReader, places: Codes) -> ReadPostings:
        """The postings of the fragments at ``places``, which ascend, as of a transaction."""
        revision = reader.state.revision
        with self._lock:
            before, every = self._blocks
        if before != revision:
            every = blocks.after(reader, reader.id, 0)
            with self._lock:
                self._blocks = revision, every
        return ReadPostings(self, reader, every, places)

    def read(
        self, reader: SpaceReader, every: Sequence[FragmentBlock], terms: TermCodes, places: Codes
    ) -> list[list[RowCounts]]:
        """The postings of each of some terms, of the fragments of blocks at ``places``, which
        ascend.
        """
        full = [block for block in every if block.is_sorted]
        postings = [[rows] for rows in self._of_full(reader, full, terms, places)]
        for block in every:
            if not block.is_sorted:
                newest = self._newest_of(reader, block, places)
                for of_term, rows in zip(postings, newest.postings(terms), strict=True):
                    of_term.append(rows)
        return postings

    def _newest_of(self, reader: SpaceReader, block: FragmentBlock, places: Codes) -> _Newest:
        state = reader.state
        with self._lock:
            held = self._newest
        if held is not None and held.edition != state.edition:
            held = None  # earlier postings may have changed
        if held is None or (held.block.postings, held.revision) != (block.postings, state.revision):
            stored = _stored_postings(reader, block, held)
            held = _newest(block, state, stored, places)
            with self._lock:
                self._newest = held
        return held

    def _of_full(
        self, reader: SpaceReader, full: Sequence[FragmentBlock], terms: TermCodes, places: Codes
    ) -> list[RowCounts]:
        """The postings of each of some terms of the blocks that are full."""
        # Rows of full blocks change only if some are erased, or if another block is full.
        living = tuple((*_stand(block), block.living) for block in full)
        state: Hashable = (reader.state.edition, living)
        postings = self._held.get(state, terms.tolist())
        missing = [term for term in terms.tolist() if term not in postings]
        if missing:
            asked = np.unique(np.array(missing, dtype=np.uint32))
            read = self._read_full(reader, full, asked, places)
            self._held.hold(state, read)
            postings |= read
        return [postings[term] for term in terms.tolist()]

    def _read_full(
        self, reader: SpaceReader, full: Sequence[FragmentBlock], terms: TermCodes, places: Codes
    ) -> dict[int, RowCounts]:
        ranges = self._heads_of(reader, full).ranges(terms)
        identity = np.array([block.postings for block in full], dtype=np.int64)
        columns = (identity[ranges.block], ranges.low, ranges.stop)
        params: list[Value] = [*(_array(of) for of in columns), reader.space]
        parts = [row[0] for row in reader.rows(_PIECES, params)]
        with damage.decoding("the search index"):
            postings, runs = decode(parts, ranges, terms)
        if not len(runs):
            return {term: RowCounts(*_NOTHING) for term in terms.tolist()}
        stretches = list(map(slice, runs.first.tolist(), runs.stop.tolist()))
        slots = np.concatenate([postings["slot"][stretch] for stretch in stretches])
        counts = np.concatenate([postings["count"][stretch] for stretch in stretches])
        rows = _rows(full, runs.block, runs.stop - runs.first, slots, places)
        there = (rows >= 0) & (counts > 0)
        stops = runs.stops(len(terms))
        if not there.all():
            stops = np.concatenate([[0], np.cumsum(there)])[stops]
            rows, counts = rows[there], counts[there]
        # Copies: else each would hold the memory of all.
        return {
            term: RowCounts(rows[low:stop].copy(), counts[low:stop].copy())
            for term, low, stop in zip(
                terms.tolist(), (0, *stops.tolist()), stops.tolist(), strict=False
            )
        }

    def _heads_of(self, reader: SpaceReader, full: Sequence[FragmentBlock]) -> PieceHeads:
        """The first term of each piece of some blocks."""
        with self._lock:
            if self._edition != reader.state.edition:  # postings may have moved
                self._edition, self._firsts = reader.state.edition, {}
                self._heads = ((), PieceHeads.from_first_terms([]))
            firsts, heads = self._firsts, self._heads
        stands = tuple(map(_stand, full))
        if heads[0] != stands:
            firsts = self._with_firsts(reader, full, firsts)
            heads = stands, PieceHeads.from_first_terms([firsts[stand] for stand in stands])
            with self._lock:
                if self._edition == reader.state.edition:
                    self._firsts, self._heads = firsts, heads
        return heads[1]

    def _with_firsts(
        self, reader: SpaceReader, full: Iterable[FragmentBlock], firsts: dict[_Stand, TermCodes]
    ) -> dict[_Stand, TermCodes]:
        """With the first terms of the blocks that are not there yet."""
        missing = [block for block in full if _stand(block) not in firsts]
        numbers = json.dumps([block.postings for block in missing])
        rows = reader.rows(_HEADS, (reader.space, numbers))
        stored = {int(row[0]): row[1] for row in rows}
        with damage.decoding("the search index"):
            return firsts | {_stand(block): _first_terms(block, stored) for block in missing}


@dataclass(frozen=True, slots=True)
class ReadPostings:
    """The postings of some fragments in one read transaction; see ``StoredPostings``."""

    terms: TermReader
    reader: SpaceReader
    every: Sequence[FragmentBlock]
    places: Codes

    def read(self, terms: TermCodes) -> list[list[RowCounts]]:
        """See ``StoredPostings``."""
        return self.terms.read(self.reader, self.every, terms, self.places)


def _stand(block: FragmentBlock) -> _Stand:
    return block.postings, block.posted


def _array(numbers: Codes) -> str:
    """Numbers as an array of PostgreSQL is written."""
    return "{" + ",".join(map(str, numbers.tolist())) + "}"


def _first_terms(block: FragmentBlock, stored: dict[int, bytes]) -> TermCodes:
    count = -(-block.posted * POSTING.itemsize // PIECE)
    heads = np.frombuffer(stored.get(block.postings, b""), dtype="<u4")[:count]
    if len(heads) < count:
        raise ValueError("pieces are missing")
    return heads


def _stored_postings(reader: SpaceReader, block: FragmentBlock, before: _Newest | None) -> Postings:
    """The postings of a block that is not full, of which some may have been read before."""
    if before is not None and before.block.postings == block.postings:
        added, more = block.used - before.block.used, block.living - before.block.living
        if added == more >= 0 and before.block.posted <= block.posted:  # nothing was erased
            later = blocks.read_postings(reader, block, before.block.posted)
            return np.concatenate([before.stored, later])
    return blocks.read_postings(reader, block)


def _newest(block: FragmentBlock, state: SpaceState, stored: Postings, places: Codes) -> _Newest:
    rows = _rows([block], np.zeros(1, np.int64), [len(stored)], stored["slot"], places)
    there = np.flatnonzero((rows >= 0) & (stored["count"] > 0) & (stored["term"] > 0))
    order = there[np.argsort(stored["term"][there], kind="stable")]
    term, counts = stored["term"][order], stored["count"][order]
    return _Newest(block, state.edition, state.revision, stored, term, rows[order], counts)


def _rows(
    every: Sequence[FragmentBlock],
    of_run: Codes,
    sizes: Codes | Sequence[int],
    slots: NDArray[np.uint16],
    places: Codes,
) -> NDArray[np.int32]:
    """The rows of the fragments in slots of blocks; -1 where none is any more.

    Slots come in runs of some ``sizes``, each of the block at a place in ``every``.
    """
    first = np.array([block.id << SLOT_BITS for block in every], dtype=np.int64)
    low, stop = np.searchsorted(places, [first, first + _MOST_SLOTS]).astype(np.int32)
    rows = np.repeat(low[of_run], sizes)
    rows += slots
    rows[rows >= np.repeat(stop[of_run], sizes)] = -1
    # In a block without gaps the rows follow from the slots. In others they are searched.
    has_gaps = np.ones(len(every), dtype=np.bool_)
    some = np.flatnonzero(stop > low)
    has_gaps[some] = places[stop[some] - 1] - first[some] >= (stop - low)[some]
    if not has_gaps.any():
        return rows
    looked_for = np.flatnonzero(np.repeat(has_gaps[of_run], sizes))
    keys = np.repeat(first[of_run], sizes)[looked_for] + slots[looked_for]
    at = np.minimum(np.searchsorted(places, keys), max(len(places) - 1, 0))
    rows[looked_for] = np.where(places[at] == keys, at, -1) if len(places) else -1
    return rows
