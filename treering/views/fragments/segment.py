"""Segments: fragments as columns, as the store hands them to the table in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.journal import blocks
from treering.journal.blocks import Postings, Rows
from treering.records import KINDS
from treering.search.postings import PostingRun
from treering.search.vectors import Block

Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Segment:
    """Fragments in order of arrival: their ids ascend.

    ``start`` is the offset of each in its entry's text; ``source``, ``position``, ``at`` (seconds
    since the epoch, NaN where unknown), ``zone`` (minutes ahead of UTC) and ``kind`` (an index of
    ``KINDS``) are those of its entry. ``speaker`` and ``session`` are codes by ``name_code``, 0 for
    none. ``lengths`` counts the terms of each. The rows of ``postings`` are indexes of this
    segment.
    """

    fragment: Codes
    entry: Codes
    start: Ints
    source: Ints
    position: Ints
    at: NDArray[np.float64]
    speaker: NDArray[np.uint64]
    session: NDArray[np.uint64]
    kind: NDArray[np.int8]
    zone: NDArray[np.int16]
    lengths: Ints
    postings: PostingRun

    def __len__(self) -> int:
        return len(self.fragment)


@dataclass(frozen=True, slots=True)
class EmbeddedRows:
    """Vectors of fragments, up to and with the one at ``mark``.

    ``fragment`` are the ids, ``number`` the numbers of the vectors in the database (0 for zeros),
    and ``vectors`` the rows, as floats or in eight bits.
    """

    mark: int
    fragment: Codes
    number: Codes
    vectors: Block


def segment_of(first: int, rows: Rows, postings: Postings, is_sorted: bool) -> Segment:
    """The fragments of a block's rows from the slot ``first`` on, without erased ones.

    Raises ValueError, or an error of numpy, for damaged rows.
    """
    living = rows["fragment"] > 0
    slots = postings["slot"].astype(np.int32)
    if first:
        slots -= np.int32(first)
    if living.all():
        if len(slots) and slots.max() >= len(rows):
            raise ValueError("terms of no fragment")
    else:
        number = np.cumsum(living, dtype=np.int32) - np.int32(1)
        if not living[slots].all():
            raise ValueError("terms of no fragment")
        rows, slots = rows[living], number[slots]
    return Segment(
        fragment=_check_ascending(rows["fragment"]),
        entry=rows["entry"],
        start=rows["start"],
        source=_narrow(rows["source"]),
        position=_narrow(rows["position"]),
        at=_seconds(rows["at"]),
        speaker=rows["speaker"],
        session=rows["session"],
        kind=_kinds(rows["kind"]),
        zone=rows["zone"],
        lengths=rows["length"],
        postings=_run(postings, slots, is_sorted),
    )


def _run(postings: Postings, rows: NDArray[np.int32], is_sorted: bool) -> PostingRun:
    terms, counts = postings["term"].copy(), postings["count"].copy()
    return (PostingRun.in_order if is_sorted else PostingRun.from_unsorted)(terms, rows, counts)


def _check_ascending(fragments: Codes) -> Codes:
    if (fragments[1:] <= fragments[:-1]).any():
        raise ValueError("fragments in no order")
    return fragments


def _narrow(values: Codes) -> NDArray[np.int32]:
    # One pass over the bits of all is faster than two for the least and the largest.
    if not 0 <= int(np.bitwise_or.reduce(values)) < 1 << 31:
        raise ValueError("too large a number")
    return values.astype(np.int32)


def _seconds(micros: Codes) -> NDArray[np.float64]:
    seconds = micros / 1e6
    seconds[micros == blocks.NEVER] = np.nan
    return seconds


def _kinds(codes: NDArray[np.int8]) -> NDArray[np.int8]:
    if len(codes) and not (codes.min() >= 0 and codes.max() < len(KINDS)):
        raise ValueError("no kind")
    return codes
