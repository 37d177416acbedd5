"""Segments: fragments as columns, as the store hands them to the table in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.search.lexical import PostingRun
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
