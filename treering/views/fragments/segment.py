"""Segments: fragments as columns, as the store hands them to the table in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.journal import blocks, damage
from treering.journal.blocks import Postings, Rows
from treering.journal.contract import Reader
from treering.records import KINDS
from treering.search.names import Names
from treering.search.postings import PostingRun
from treering.search.vectors import Block

Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Segment:
    """``n`` fragments in order of arrival: their ids ascend.

    ``start`` is the place of each in its entry's text; ``source``, ``position``, ``at`` (seconds
    since the epoch, NaN where unknown) and ``kind`` (a place in ``KINDS``) are those of its entry.
    ``speaker`` and ``session`` are codes of the ``Names`` that the segment was read with.
    ``lengths`` counts the terms of each. The rows of ``postings`` are places in this segment.
    """

    fragment: Codes
    entry: Codes
    start: Ints
    source: Ints
    position: Ints
    at: NDArray[np.float64]
    speaker: Ints
    session: Ints
    kind: NDArray[np.int8]
    lengths: Ints
    postings: PostingRun

    def __len__(self) -> int:
        return len(self.fragment)


@dataclass(frozen=True, slots=True)
class EmbeddedRows:
    """Vectors of fragments, up to and with the one at ``mark``.

    ``fragment`` are the ids, ``number`` what the database finds the vectors by, 0 for zeros, and
    ``vectors`` the rows, as floats or in eight bits.
    """

    mark: int
    fragment: Codes
    number: Codes
    vectors: Block


def segment_of(
    reader: Reader, first: int, rows: Rows, postings: Postings, is_sorted: bool, names: Names
) -> Segment:
    """The fragments of a block's rows from the slot ``first`` on; erased ones are left out.

    Raises ValueError or what numpy does where the rows do not hold what was put there.
    """
    living = rows["fragment"] > 0
    number = np.cumsum(living, dtype=np.int32) - np.int32(1)
    slots = postings["slot"].astype(np.int64) - first
    if not living[slots].all():
        raise ValueError("terms of no fragment")
    rows = rows if living.all() else rows[living]
    return Segment(
        fragment=_ascending(rows["fragment"]),
        entry=rows["entry"],
        start=rows["start"],
        source=_narrow(rows["source"]),
        position=_narrow(rows["position"]),
        at=np.where(rows["at"] == blocks.NEVER, np.nan, rows["at"] / 1e6),
        speaker=_speakers(reader, rows, names),
        session=names.sessions_of(rows["source"], rows["session"]),
        kind=_kinds(rows["kind"]),
        lengths=rows["length"],
        postings=_run(postings, number[slots], is_sorted),
    )


def _run(postings: Postings, rows: NDArray[np.int32], is_sorted: bool) -> PostingRun:
    terms, counts = postings["term"].copy(), postings["count"].copy()
    return (PostingRun.in_order if is_sorted else PostingRun.of)(terms, rows, counts)


def _ascending(fragments: Codes) -> Codes:
    if (np.diff(fragments) <= 0).any():
        raise ValueError("fragments in no order")
    return fragments


def _narrow(values: Codes) -> NDArray[np.int32]:
    if len(values) and not (values.min() >= 0 and values.max() < 1 << 31):
        raise ValueError("too large a number")
    return values.astype(np.int32)


def _kinds(codes: NDArray[np.int8]) -> NDArray[np.int8]:
    if len(codes) and not (codes.min() >= 0 and codes.max() < len(KINDS)):
        raise ValueError("no kind")
    return codes


def _speakers(reader: Reader, rows: Rows, names: Names) -> NDArray[np.int32]:
    """Codes of the speakers. The name of a new one is read from an entry of theirs."""
    distinct, firsts, inverse = np.unique(rows["speaker"], return_index=True, return_inverse=True)
    for at in np.argsort(firsts).tolist():
        if names.lacks_speaker(int(distinct[at])):
            row = reader.row(
                "SELECT b.speaker FROM entry e JOIN body b ON b.id = e.body"
                " WHERE e.space = ? AND e.seq = ?",
                (reader.space, int(rows["entry"][firsts[at]])),
            )
            names.add_speaker(int(distinct[at]), damage.checked(str, row[0] if row else None))
    codes = np.array([names.speaker(int(code)) for code in distinct], dtype=np.int32)
    return codes[inverse]
