"""The postings of one term: of the runs of an index, or stored elsewhere, in parts or together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treering.search.postings import Slots

PIECE = 1 << 14  # postings scored at a time

FEW_POSTINGS = 1_024
"""Postings of a term up to which they are put together once they are looked up."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows that hold a term, ascending, and how often each does."""

    rows: Slots
    counts: NDArray[np.uint16]


class StoredPostings(Protocol):
    """The postings of terms that are not in main memory."""

    def read(self, terms: NDArray[np.uint32]) -> Sequence[Sequence[RowCounts]]:
        """The postings of each of some terms, in parts whose rows ascend from one to the next."""
        ...


@dataclass(frozen=True, slots=True)
class TermPostings:
    """The slots that hold a term, and how often: as the runs have them, or put together if they are
    few. No slot is in two.
    """

    idf: np.float32
    slots: list[Slots]
    counts: list[NDArray[np.uint16]]


PostingParts = tuple[list[Slots], list[NDArray[np.uint16]]]
"""Slots and how often, part by part."""


def joined_if_few(slots: list[Slots], counts: list[NDArray[np.uint16]]) -> PostingParts:
    """Postings of the runs, put together where that takes less than looking at each run's.

    Those of common words are many, and stay where they are.
    """
    if len(slots) < 2 or sum(map(len, slots)) > FEW_POSTINGS:
        return slots, counts
    return [np.concatenate(slots)], [np.concatenate(counts)]


def in_pieces(
    postings: TermPostings, low: int, high: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.uint16]]]:
    """Slots from one to another, as numpy indexes with them, and counts, so many that they stay in
    the cache.
    """
    for slots, counts in zip(postings.slots, postings.counts, strict=True):
        first, stop = 0, len(slots)
        if slots[0] < low or slots[-1] >= high:
            # As numbers of another size they would all be converted to be compared.
            first, stop = slots.searchsorted(np.array((low, high), dtype=slots.dtype)).tolist()
        for start in range(first, stop, PIECE):
            part = slice(start, min(start + PIECE, stop))
            yield slots[part].astype(np.intp), counts[part]


def joined(postings: TermPostings) -> tuple[Slots, NDArray[np.uint16]]:
    """All slots of a term, ascending, and their counts."""
    if not postings.slots:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint16)
    return np.concatenate(postings.slots), np.concatenate(postings.counts)


def are_among(rows: Slots, slots: Slots) -> NDArray[np.bool_]:
    """Which slots are among those of a term, which ascend."""
    among: NDArray[np.bool_] = rows.take(rows.searchsorted(slots), mode="clip") == slots
    return among
