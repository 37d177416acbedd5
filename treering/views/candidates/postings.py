"""The postings of a query's terms, read from the blocks that a space stands in.

A block that is full is sorted by term, and stands in pieces. Which pieces have a term is told by
the first term of each piece; these are held in main memory, two bytes a fragment. So a query reads
a few kilobytes a block and term, and what it reads is scored by the same line as ever.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.journal import blocks, damage
from treering.journal.blocks import POSTING, FragmentBlock, Postings
from treering.journal.postgres.pieces import PIECE
from treering.journal.space import SpaceReader
from treering.search.lexical import PostingRun
from treering.views.candidates.columns import SLOT_BITS

Heads = NDArray[np.uint32]

_MOST_SLOTS: Final = 1 << SLOT_BITS

# One range a row; several ranges of a block do not overlap. OFFSET keeps the planner from joining
# both at once, for which it would read the whole table: each range is found by the key. A range
# comes as one row: common words have thousands of pieces.
_PIECES: Final = """
    SELECT w.id, p.data
    FROM jsonb_to_recordset(CAST(? AS JSONB)) AS w (id BIGINT, low BIGINT, high BIGINT)
    CROSS JOIN LATERAL (
        SELECT string_agg(data, CAST('' AS BYTEA) ORDER BY piece) AS data FROM (
            SELECT piece, data FROM block_postings
            WHERE id = w.id AND piece >= w.low AND piece < w.high OFFSET 0
        ) AS pieces
    ) AS p WHERE p.data IS NOT NULL ORDER BY w.id, w.low
"""
_HEADS: Final = """
    SELECT id, string_agg(head, CAST('' AS BYTEA) ORDER BY piece) FROM block_postings
    WHERE id IN (SELECT value FROM json_each(?)) AND length(head) = 4 GROUP BY id
"""


@dataclass(frozen=True, slots=True)
class _Newest:
    """The postings of the block that is not full, as of a revision of the space."""

    row: int
    revision: int
    postings: Postings


class TermReader:
    """Reads the postings of terms of one space. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects what follows
        self._edition = -1
        self._heads: dict[int, Heads] = {}
        self._newest: _Newest | None = None

    def of(self, reader: SpaceReader, places: Codes) -> ReadPostings:
        """The postings of the fragments at ``places``, which ascend, as of a transaction."""
        return ReadPostings(self, reader, blocks.after(reader, reader.id, 0), places)

    def read(
        self,
        reader: SpaceReader,
        every: Sequence[FragmentBlock],
        terms: NDArray[np.uint32],
        places: Codes,
    ) -> PostingRun:
        """The postings of some terms, of the fragments of blocks at ``places``, which ascend."""
        found = self._of_sorted(reader, [block for block in every if block.is_sorted], terms)
        for block in every:
            if not block.is_sorted:
                found[block.id] = self._of_newest(reader, block)
        terms = np.unique(terms)
        here = [block for block in every if block.id in found]
        return _run(here, [_asked(block, found[block.id], terms) for block in here], terms, places)

    def fewest(
        self, reader: SpaceReader, every: Sequence[FragmentBlock], terms: NDArray[np.uint32]
    ) -> NDArray[np.int64]:
        """How many fragments of blocks hold each of some terms, at least."""
        full = [block for block in every if block.is_sorted]
        heads = self._heads_of(reader, full)
        fewest = np.zeros(len(terms), dtype=np.int64)
        for block in full:
            fewest += fewest_in(heads[block.postings], terms, block.used - block.living)
        return fewest

    def _of_newest(self, reader: SpaceReader, block: FragmentBlock) -> Postings:
        revision = reader.state.revision
        with self._lock:
            held = self._newest
        if held is None or (held.row, held.revision) != (block.postings, revision):
            held = _Newest(block.postings, revision, blocks.read_postings(reader, block))
            with self._lock:
                self._newest = held
        return held.postings

    def _of_sorted(
        self, reader: SpaceReader, full: Sequence[FragmentBlock], terms: NDArray[np.uint32]
    ) -> dict[int, Postings]:
        """The postings of the pieces that have some of the terms, by block."""
        heads = self._heads_of(reader, full)
        ranges = [
            {"id": block.postings, "low": low, "high": high}
            for block in full
            if block.posted
            for low, high in _ranges(heads[block.postings], terms)
        ]
        data: dict[int, list[bytes]] = {}
        if ranges:
            for row, pieces in reader.rows(_PIECES, (json.dumps(ranges),)):
                data.setdefault(int(row), []).append(pieces)
        with damage.decoding("the search index"):
            return {
                block.id: np.frombuffer(b"".join(data[block.postings]), dtype=POSTING)
                for block in full
                if block.postings in data
            }

    def _heads_of(self, reader: SpaceReader, full: Iterable[FragmentBlock]) -> dict[int, Heads]:
        """The first term of each piece of some blocks."""
        with self._lock:
            if self._edition != reader.state.edition:  # what was there may stand elsewhere now
                self._edition, self._heads = reader.state.edition, {}
            heads = self._heads
        missing = [block for block in full if block.postings not in heads]
        if missing:
            numbers = json.dumps([block.postings for block in missing])
            stored = {int(row[0]): row[1] for row in reader.rows(_HEADS, (numbers,))}
            with damage.decoding("the search index"):
                read = {block.postings: _heads(block, stored) for block in missing}
            with self._lock:
                if self._heads is heads:
                    self._heads = heads | read
            heads = heads | read
        return heads


@dataclass(frozen=True, slots=True)
class ReadPostings:
    """The postings of some fragments in one read transaction; see ``StoredPostings``."""

    terms: TermReader
    reader: SpaceReader
    every: Sequence[FragmentBlock]
    places: Codes

    def read(self, terms: NDArray[np.uint32]) -> PostingRun:
        """See ``StoredPostings``."""
        return self.terms.read(self.reader, self.every, terms, self.places)

    def fewest(self, terms: NDArray[np.uint32]) -> NDArray[np.int64]:
        """See ``StoredPostings``."""
        return self.terms.fewest(self.reader, self.every, terms)


def fewest_in(heads: Heads, terms: NDArray[np.uint32], erased: int) -> NDArray[np.int64]:
    """How many fragments of a block hold each of some terms, at least, if some were erased."""
    # A piece between two that begin with a term has nothing but that term in it.
    firsts = heads[:-1][(heads[:-1] == heads[1:]) & (heads[:-1] > 0)]
    pieces = np.searchsorted(firsts, terms, "right") - np.searchsorted(firsts, terms)
    fewest: NDArray[np.int64] = np.maximum(pieces * (PIECE // POSTING.itemsize) - erased, 0)
    return fewest


def _heads(block: FragmentBlock, stored: dict[int, bytes]) -> Heads:
    count = -(-block.posted * POSTING.itemsize // PIECE)
    heads = np.frombuffer(stored.get(block.postings, b""), dtype="<u4")[:count]
    if len(heads) < count:
        raise ValueError("pieces are missing")
    return heads


def _ranges(heads: Heads, terms: NDArray[np.uint32]) -> list[tuple[int, int]]:
    """The pieces that may have some of the terms, as ranges that do not overlap.

    What was erased is zero, also where it was first in a piece: such a piece tells nothing.
    """
    telling = np.flatnonzero(heads)
    firsts = heads[telling]
    before = np.searchsorted(firsts, terms, side="left") - 1
    behind = np.searchsorted(firsts, terms, side="right")
    lows = np.where(before >= 0, telling[np.maximum(before, 0)] if len(telling) else 0, 0)
    stops = np.append(telling, len(heads))[behind]
    merged: list[tuple[int, int]] = []
    for low, stop in sorted(zip(lows.tolist(), stops.tolist(), strict=True)):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((low, stop))
    return merged


def _asked(block: FragmentBlock, postings: Postings, terms: NDArray[np.uint32]) -> Postings:
    """The postings of a block in order of their terms: those of some terms, or a few more."""
    if block.is_sorted:
        is_erased = postings["term"] == 0
        return postings[~is_erased] if is_erased.any() else postings
    postings = postings[np.isin(postings["term"], terms)]
    return postings[np.argsort(postings["term"], kind="stable")]


def _run(
    every: Sequence[FragmentBlock],
    postings: Sequence[Postings],
    terms: NDArray[np.uint32],
    places: Codes,
) -> PostingRun:
    """The postings of some terms, given ascending, of blocks, which ascend.

    Each block is in order: a term's postings are put together block by block, and nothing is
    sorted.
    """
    bounds = np.zeros((2, len(terms), len(every)), dtype=np.int64)
    for at, of_block in enumerate(postings):
        of_term = np.ascontiguousarray(of_block["term"])
        bounds[0, :, at] = np.searchsorted(of_term, terms, "left")
        bounds[1, :, at] = np.searchsorted(of_term, terms, "right")
    low, stop = bounds.reshape(2, -1)
    at_block = np.tile(np.arange(len(every)), len(terms))
    some = np.flatnonzero(stop > low).tolist()
    parts = [postings[at_block[at]][low[at] : stop[at]] for at in some]
    run = np.concatenate([np.zeros(0, dtype=POSTING), *parts])
    rows = _rows(every, np.repeat(at_block, stop - low), run["slot"].astype(np.int64), places)
    is_there = (rows >= 0) & (run["count"] > 0)
    sizes = (bounds[1] - bounds[0]).sum(axis=1)
    if not is_there.all():
        sizes = np.bincount(np.repeat(np.arange(len(terms)), sizes)[is_there], minlength=len(terms))
        run, rows = run[is_there], rows[is_there]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return PostingRun(terms, starts, rows.astype(np.int32), run["count"].copy())


def _rows(every: Sequence[FragmentBlock], of_block: Codes, slots: Codes, places: Codes) -> Codes:
    """The rows of the fragments in slots of blocks; -1 where none is any more."""
    first = np.array([block.id << SLOT_BITS for block in every], dtype=np.int64)
    low, stop = np.searchsorted(places, [first, first + _MOST_SLOTS])
    rows: Codes = low[of_block] + slots
    rows[slots >= (stop - low)[of_block]] = -1
    # Of a block without gaps the rows are known. In others they are looked for.
    has_gaps = np.ones(len(every), dtype=np.bool_)
    some = np.flatnonzero(stop > low)
    has_gaps[some] = places[stop[some] - 1] - first[some] >= (stop - low)[some]
    looked_for = np.flatnonzero(has_gaps[of_block])
    keys = first[of_block[looked_for]] + slots[looked_for]
    at = np.minimum(np.searchsorted(places, keys), max(len(places) - 1, 0))
    rows[looked_for] = np.where(places[at] == keys, at, -1) if len(places) else -1
    return rows
