"""The first terms of pieces of postings: they show which pieces may have a term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, union
from treering.journal.blocks import POSTING, Postings

TermCodes = NDArray[np.uint32]
Keys = NDArray[np.uint64]

MOST_ERASED: Final = 1_000
"""Stretches of erased postings that may stay between others: each parts a run."""

_TERM_BITS: Final = np.uint64(32)


@dataclass(frozen=True, slots=True)
class PieceRanges:
    """Pieces from ``low`` to ``stop`` of blocks, by their places; ranges do not overlap."""

    block: Codes
    low: Codes
    stop: Codes

    def __len__(self) -> int:
        return len(self.block)


@dataclass(frozen=True, slots=True)
class PieceHeads:
    """The first terms of the pieces of B blocks, in whose postings terms ascend.

    A key is the place of a block, from 0, above a term; keys ascend. ``keys`` are those of the
    pieces with a first term, ``pieces`` their numbers; ``counts`` are the pieces of each
    block.
    """

    keys: Keys
    pieces: Codes
    counts: Codes

    @classmethod
    def from_first_terms(cls, heads: Sequence[TermCodes]) -> Self:
        """The heads for the first term of each piece, by block.

        Erased postings are zero. A piece that begins with one lacks a key.
        """
        counts = np.array([len(of_block) for of_block in heads], dtype=np.int64)
        terms = np.concatenate([np.zeros(0, dtype=np.uint32), *heads])
        keys = block_keys(np.repeat(np.arange(len(heads)), counts), terms)
        pieces = np.arange(len(terms)) - np.repeat(np.cumsum(counts) - counts, counts)
        named = np.flatnonzero(terms)
        return cls(keys[named], pieces[named], counts)

    def ranges(self, terms: TermCodes) -> PieceRanges:
        """The pieces that may have some of the terms, given ascending."""
        block, keys = self._keys_by_block(terms)
        before = np.searchsorted(self.keys, keys) - 1
        behind = np.searchsorted(self.keys, keys, "right")
        low = np.where(self._is_of(before, block), self._piece(before), 0)
        stop = np.where(self._is_of(behind, block), self._piece(behind), self.counts[block])
        # Terms ascend, so lows and stops do. A range that meets the one before goes on with it.
        is_first = np.ones(len(block), dtype=np.bool_)
        is_first[1:] = (block[1:] != block[:-1]) | (low[1:] > stop[:-1])
        first = np.flatnonzero(is_first)
        last = np.append(first[1:], len(block))[: len(first)] - 1
        some = low[first] < stop[last]
        first, last = first[some], last[some]
        return PieceRanges(block[first], low[first], stop[last])

    def _keys_by_block(self, terms: TermCodes) -> tuple[Codes, Keys]:
        """Each term in each block, as places of blocks and as keys; those of a block together."""
        block = np.repeat(np.arange(len(self.counts)), len(terms))
        return block, keys_in(len(self.counts), terms).ravel()

    def _is_of(self, at: Codes, block: Codes) -> NDArray[np.bool_]:
        """Whether there is a key at some places, and of those blocks."""
        inside = (at >= 0) & (at < len(self.keys))
        inside[inside] = (self.keys[at[inside]] >> _TERM_BITS) == block[inside].astype(np.uint64)
        return inside

    def _piece(self, at: Codes) -> Codes:
        """The pieces at some places; any piece for a place outside."""
        if not len(self.pieces):
            return np.zeros(len(at), dtype=np.int64)
        pieces: Codes = self.pieces[at.clip(0, len(self.pieces) - 1)]
        return pieces


def block_keys(block: Codes, terms: TermCodes) -> Keys:
    """The keys of terms in blocks."""
    keys: Keys = block.astype(np.uint64)
    keys <<= _TERM_BITS
    keys |= terms
    return keys


def keys_in(blocks: int, terms: TermCodes) -> Keys:
    """The keys of each of T terms in each of B blocks, (B, T)."""
    block = np.repeat(np.arange(blocks), len(terms))
    return block_keys(block, np.tile(terms, blocks)).reshape(blocks, len(terms))


@dataclass(frozen=True, slots=True)
class TermRuns:
    """Consecutive postings of one term in one block, from ``first`` to ``stop``.

    ``block`` is the index of the block, ``term`` that of the term in the query. Runs ascend by
    term, and those of a term by block.
    """

    first: Codes
    stop: Codes
    block: Codes
    term: Codes

    def __len__(self) -> int:
        return len(self.first)

    def stops(self, terms: int) -> Codes:
        """The end of each term's postings in the concatenation of all runs."""
        sizes = np.bincount(self.term, weights=self.stop - self.first, minlength=terms)
        stops: Codes = np.cumsum(sizes).astype(np.int64)
        return stops


def decode(
    parts: Sequence[bytes | None], ranges: PieceRanges, terms: TermCodes
) -> tuple[Postings, TermRuns]:
    """The postings of ranges of pieces, and the runs of some terms in them. Raises ValueError."""
    if len(parts) < len(ranges) or any(part is None for part in parts):
        raise ValueError("pieces are missing")
    data = [part or b"" for part in parts]
    sizes = np.array([len(part) for part in data], dtype=np.int64) // POSTING.itemsize
    postings = np.frombuffer(b"".join(data), dtype=POSTING)
    term = np.ascontiguousarray(postings["term"])
    starts = np.cumsum(sizes) - sizes
    first = _run_starts(term, starts)
    if np.count_nonzero(term[first] == 0) > MOST_ERASED:
        term = _fill_erased(term)
        first = _run_starts(term, starts)
    stop = np.append(first[1:], len(term))[: len(first)]
    place = np.searchsorted(terms, term[first])
    chosen = np.flatnonzero(terms.take(place, mode="clip") == term[first])
    chosen = chosen[np.argsort(place[chosen], kind="stable")]
    block = ranges.block[np.searchsorted(np.cumsum(sizes), first[chosen], "right")]
    return postings, TermRuns(first[chosen], stop[chosen], block, place[chosen])


def _run_starts(term: TermCodes, starts: Codes) -> Codes:
    """The places where a term or a range begins, ascending."""
    first = union(np.flatnonzero(term[1:] != term[:-1]) + 1, starts)
    return first[first < len(term)]


def _fill_erased(term: TermCodes) -> TermCodes:
    """Give erased postings, whose term is zero, the term before them.

    Their count is zero, so they change no score, and fewer runs are left.
    """
    places = np.arange(len(term))
    places[term == 0] = 0
    result: TermCodes = term[np.maximum.accumulate(places)]
    return result
