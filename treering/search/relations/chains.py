"""Sums along chains of items that each fade into the next, without a matrix of all pairs.

What an item gets of those before it, ``F_i = s_i + f_i·F_{i-1}``, is a recursion of N steps. It is
taken here in strides: with what comes from up to 2ᵏ - 1 places away, and the factor over 2ᵏ places,
one addition gives what comes from up to 2ᵏ⁺¹ - 1. That is exact once no factor over so many places
is left. Both directions use the same factors.
"""

from __future__ import annotations

import sys
from math import ceil, log

import numpy as np

from treering.arrays import Codes, Floats, union
from treering.parallel import PIECE, for_each
from treering.scratch import lent

FAINT = 1e-7
"""A share of a score that float32 does not tell from none."""


class Chains:
    """Items in a line, each linked by a factor to the one before; 0 links nothing."""

    def __init__(self, factors: Floats) -> None:
        self.factors = factors
        self._largest = float(factors[1:].max(initial=0))
        self._reach = min(len(factors), reach(self._largest, FAINT))

    def sums(self, scores: Floats) -> Floats:
        """``Σ_j (product of the factors between i and j) · scores[j]`` for every i; a new array."""
        size, reach = len(scores), self._reach
        piece = max(PIECE, 4 * reach)  # else most of the work would be for what is around a piece
        if size <= piece:
            return _sums(self.factors, scores)
        sums: Floats = lent((size,))

        def add_up(at: int) -> None:
            start, stop = at * piece, min((at + 1) * piece, size)
            low, high = max(start - reach, 0), min(stop + reach, size)
            near = _sums(self.factors[low:high], scores[low:high])
            sums[start:stop] = near[start - low : stop - low]

        for_each(add_up, -(-size // piece), size)
        return sums

    def near(self, places: Codes, least: float, far: int) -> Codes:
        """Places that a share of at least ``least`` of what is at one of some reaches, at most
        ``far`` from it; those places, too. Sorted.
        """
        steps = np.arange(1, min(far, reach(self._largest, least)) + 1)
        reached = [places]
        # The factor at a place links it to the one before.
        for at, link in ((-steps, 1 - steps), (steps, steps)):
            links = places[:, None] + link
            inside = (links > 0) & (links < len(self.factors))
            shares = np.where(inside, self.factors.take(links, mode="clip"), 0).cumprod(axis=1)
            reached.append((places[:, None] + at)[shares >= least])
        return union(*reached)

    def mass(self, first: int, stop: int, margin: int) -> Floats:
        """The sums of ones for the items from ``first`` to ``stop``, found within a margin."""
        low, high = max(first - margin, 0), min(stop + margin, len(self.factors))
        sums = _sums(self.factors[low:high], np.ones(high - low, dtype=np.float32))
        return sums[first - low : stop - low]


def _sums(factors: Floats, scores: Floats) -> Floats:
    """``Chains.sums``, of all items at once."""
    size, stride = len(scores), 1
    forward, backward = scores.copy(), scores.copy()
    links = factors[1:]  # over a stride, by the place where it begins
    buffer = np.empty(size, dtype=np.float32)
    while stride < size and links.max() >= FAINT:
        passed = np.multiply(links, forward[:-stride], out=buffer[stride:])
        forward[stride:] += passed
        np.multiply(links, backward[stride:], out=passed)
        backward[:-stride] += passed
        links = links[:-stride] * links[stride:]
        stride *= 2
    # Both have an item's own score.
    forward += backward
    forward -= scores
    return forward


def reach(largest: float, least: float) -> int:
    """Places beyond which less than a share of ``least`` is left of any score; at least 1.

    No factor is above ``largest``.
    """
    if largest < least:
        return 1
    return sys.maxsize if largest >= 1 else ceil(log(least) / log(largest))
