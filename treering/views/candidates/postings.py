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
# both at once, for which it would read the whole table: each range is found by the key.
_PIECES: Final = """
    SELECT p.id, p.piece, p.data
    FROM jsonb_to_recordset(CAST(? AS JSONB)) AS w (id BIGINT, low BIGINT, high BIGINT)
    CROSS JOIN LATERAL (
        SELECT id, piece, data FROM block_postings
        WHERE id = w.id AND piece >= w.low AND piece < w.high OFFSET 0
    ) AS p ORDER BY p.id, p.piece
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

    def read(self, reader: SpaceReader, terms: NDArray[np.uint32], places: Codes) -> PostingRun:
        """The postings of some terms, of the fragments at ``places``, which ascend."""
        every = blocks.after(reader, reader.id, 0)
        found = self._of_sorted(reader, [block for block in every if block.is_sorted], terms)
        for block in every:
            if not block.is_sorted:
                found[block.id] = self._of_newest(reader, block)
        parts: list[tuple[Postings, Codes]] = []
        for block in every:
            postings = found.get(block.id)
            if postings is not None and len(postings):
                parts.append(_rows(block, postings[np.isin(postings["term"], terms)], places))
        return _run(parts)

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
            for row, _, piece in reader.rows(_PIECES, (json.dumps(ranges),)):
                data.setdefault(int(row), []).append(piece)
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


def _rows(block: FragmentBlock, postings: Postings, places: Codes) -> tuple[Postings, Codes]:
    """The postings of fragments that are there, and the rows of these."""
    first = block.id << SLOT_BITS
    low, high = np.searchsorted(places, (first, first + _MOST_SLOTS)).tolist()
    row_of_slot = np.full(_MOST_SLOTS, -1, dtype=np.int64)
    row_of_slot[places[low:high] - first] = np.arange(low, high)
    rows = row_of_slot[postings["slot"]]
    is_there = (rows >= 0) & (postings["count"] > 0)
    return postings[is_there], rows[is_there]


def _run(parts: Sequence[tuple[Postings, Codes]]) -> PostingRun:
    empty = np.zeros(0, dtype=POSTING)
    postings = np.concatenate([empty, *(part for part, _ in parts)])
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *(of_part for _, of_part in parts)])
    return PostingRun.of(postings["term"].copy(), rows.astype(np.int32), postings["count"].copy())
