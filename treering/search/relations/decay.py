"""Relations that fade along a line: context (FragRel eq. 7) and time.

With the factor f_i between item i - 1 and i, W[i, j] is the product of the factors between i and j.
``W·s`` is two recursions, ``F_i = s_i + f_i·F_{i-1}`` forward and its mirror image backward, minus
s. A factor of zero is a border that nothing crosses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from treering.arrays import PIECE, Codes, Floats, borrow_array, for_each, union, without
from treering.errors import InputError
from treering.search.relations.contract import (
    MISSING,
    Items,
    Labels,
    Operator,
    ReadingOrder,
    RowChange,
    by_column,
)

FAINT = 1e-7  # a share of a score that float32 loses


class Chains:
    """Items in a line, each linked by a factor to the one before; 0 links nothing."""

    def __init__(self, factors: Floats) -> None:
        self.factors = factors
        self._largest = float(factors[1:].max(initial=0))
        self._reach = min(len(factors), reach(self._largest, FAINT))

    def sums(self, scores: Floats) -> Floats:
        """Return ``Σ_j (product of the factors between i and j) · scores[j]`` for every i."""
        size, reach = len(scores), self._reach
        piece = max(PIECE, 4 * reach)  # else most of the work would be for the margins
        if size <= piece:
            return _sums(self.factors, scores)
        sums: Floats = borrow_array((size,))

        def add_up(at: int) -> None:
            start, stop = at * piece, min((at + 1) * piece, size)
            low, high = max(start - reach, 0), min(stop + reach, size)
            near = _sums(self.factors[low:high], scores[low:high])
            sums[start:stop] = near[start - low : stop - low]

        for_each(add_up, -(-size // piece), size)
        return sums

    def near(self, places: Codes, least: float, far: int) -> Codes:
        """Return places, and those up to ``far`` away that a share of ``least`` reaches; sorted."""
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
        """Return the sums of ones for the items from ``first`` to ``stop``, within a margin."""
        low, high = max(first - margin, 0), min(stop + margin, len(self.factors))
        sums = _sums(self.factors[low:high], np.ones(high - low, dtype=np.float32))
        return sums[first - low : stop - low]


def _sums(factors: Floats, scores: Floats) -> Floats:
    """Return ``Chains.sums`` in strides: the sums of up to 2ᵏ - 1 places away and the factors over
    2ᵏ places give those of up to 2ᵏ⁺¹ - 1.
    """
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
    # Both have an item's base score.
    forward += backward
    forward -= scores
    return forward


def reach(largest: float, least: float) -> int:
    """Return how many places a share of ``least`` reaches, by factors of at most ``largest``."""
    if largest < least:
        return 1
    return sys.maxsize if largest >= 1 else ceil(log(least) / log(largest))


DAY_S = 86_400.0


FAR = 64  # places up to which a score reaches another item

FEW_CHANGED = 8  # of all items, one in so many may change for an operator to be rebound


class DecayOperator:
    """W of chains: ``order`` lists the items chain by chain, ``factors[k]`` links k - 1 to k.

    Other items are related to nothing.
    """

    def __init__(
        self,
        order: Labels,
        factors: Floats,
        size: int,
        mass: Floats | None = None,
        is_plain: bool | None = None,
        places: Callable[[Codes], Codes] | None = None,
    ) -> None:
        self._order: Labels | None = order
        if _is_plain(order) if is_plain is None else is_plain:
            self._order = None  # nothing to gather or scatter: these are the first items
        self._places_of = places
        self._size = size
        self._length = len(order)
        self._chains = Chains(factors)
        self._mass = mass

    def propagate(self, scores: Floats) -> Floats:
        """Return ``W·scores``, shape (N,) or (N, Q)."""
        return by_column(self._propagate_column, scores)

    def mass(self) -> Floats:
        """``W·1``."""
        if self._mass is None:
            self._mass = self._propagate_column(np.ones(self._size, dtype=np.float32))
        return self._mass

    def near(self, items: Codes, least: float) -> Codes:
        """See ``LocalOperator``. Look at most ``FAR`` places away: items may share one time."""
        places = self._places(items)
        places = places[places < self._length]
        every = self._chains.near(places, least, FAR)
        if self._order is None:
            return union(items, every)
        return union(items, self._order[every].astype(np.int64))

    def among(self, items: Codes, scores: Floats) -> Floats:
        """See ``LocalOperator``."""
        places = self._places(items)
        order = np.argsort(places, kind="stable")
        order = order[places[order] < self._length]  # the others are related to nothing
        places = places[order]
        steps = np.diff(places, prepend=places[:1])
        factors = np.where(steps == 1, self._chains.factors[places], np.float32(0))
        for at in np.flatnonzero((steps > 1) & (steps <= FAR)).tolist():
            factors[at] = self._chains.factors[places[at - 1] + 1 : places[at] + 1].prod()
        sums = np.zeros(len(items), dtype=np.float32)
        sums[order] = Chains(factors).sums(scores[order])
        return sums

    def _places(self, items: Codes) -> Codes:
        """Return the places of items in the order, its end or beyond for those not in it."""
        if self._order is None:
            return items
        if self._places_of is None:
            places = np.full(self._size, self._length, dtype=np.int64)
            places[self._order] = np.arange(self._length)
            self._places_of = places.__getitem__
        return self._places_of(items)

    def near_mass(self, first: int, stop: int, margin: int) -> Floats:
        """Return the masses of the items at some places, found within a margin of them."""
        return self._chains.mass(first, stop, margin)

    def _propagate_column(self, scores: Floats) -> Floats:
        chain = scores[: self._length] if self._order is None else scores[self._order]
        result = self._chains.sums(np.ascontiguousarray(chain))
        if self._length == self._size and self._order is None:
            return result
        scattered = np.zeros(self._size, dtype=np.float32)
        scattered[slice(0, self._length) if self._order is None else self._order] = result
        return scattered


def _is_plain(order: Labels) -> bool:
    return not len(order) or (
        int(order[-1]) == len(order) - 1 and np.array_equal(order, np.arange(len(order)))
    )


@dataclass(frozen=True, slots=True)
class ContextRelation:
    """FragRel's context relation, eq. 7: ``w^|loc_i − loc_j|`` inside a document, else 0.

    With ``within="session"`` nothing crosses a session border either.
    """

    w: float = 0.5
    within: str = "document"
    name: str = "context"

    def __post_init__(self) -> None:
        if not 0 <= self.w < 1:
            raise InputError(f"context w is {self.w}; it must be at least 0 and below 1")
        if self.within not in ("document", "session"):
            raise InputError(f"context within is {self.within!r}; it can be document or session")

    def bind(self, items: Items) -> Operator:
        """Chains of the fragments of a document in their order."""
        if items.reading is not None:
            return self._of_reading(items.reading, items, None)
        order = np.lexsort((items.position, items.document))
        order = order[items.document[order] != MISSING]
        groups: list[Labels] = [items.document]
        if self.within == "session":
            groups.append(items.session)
        # If items between two are missing, one factor spans the gap.
        steps = np.diff(items.position[order], prepend=0)
        factors = np.power(self.w, steps.clip(min=0)).astype(np.float32)
        return DecayOperator(order, np.where(_same(order, groups), factors, 0), len(items))

    def rebind(self, before: Operator, items: Items, change: RowChange) -> Operator | None:
        """See ``Relation``: the masses of items far from a change stay as they were."""
        reading = items.reading
        if reading is None or not isinstance(before, DecayOperator):
            return None
        margin = reach(self.w, FAINT)
        spans = _spans(change.places, margin, len(reading))
        if sum(stop - first for first, stop in spans) > len(reading) // FEW_CHANGED:
            return None
        mass = np.zeros(len(items), dtype=np.float32)
        without(before.mass(), change.gone, out=mass[: len(items) - change.added])
        return self._of_reading(reading, items, mass, spans, margin)

    def _of_reading(
        self,
        reading: ReadingOrder,
        items: Items,
        mass: Floats | None,
        spans: Sequence[tuple[int, int]] = (),
        margin: int = 0,
    ) -> Operator:
        """Return the chains of an order without gaps; masses change at the ``spans``."""
        linked = reading.continues if self.within == "session" else reading.follows
        factors = linked * np.float32(self.w)
        operator = DecayOperator(
            reading.rows, factors, len(items), mass, reading.is_plain, _places(reading, items)
        )
        if mass is not None:
            for first, stop in spans:
                mass[reading.rows[first:stop]] = operator.near_mass(first, stop, margin)
        return operator


@dataclass(frozen=True, slots=True)
class Time:
    """Nearness in time: ``exp(−Δt/τ)`` over the whole space; ``tau`` in seconds."""

    tau: float = DAY_S
    name: str = "time"

    def __post_init__(self) -> None:
        if not self.tau > 0:
            raise InputError(f"time tau is {self.tau}; it must be above 0 seconds")

    def bind(self, items: Items) -> Operator:
        """One chain of all items that have a time, by time."""
        order = np.argsort(items.at, kind="stable")
        order = order[~np.isnan(items.at[order])]
        at = items.at[order]
        factors = np.exp(-np.diff(at, prepend=at[:1]) / self.tau).astype(np.float32)
        return DecayOperator(order, factors, len(items))


def _places(reading: ReadingOrder, items: Items) -> Callable[[Codes], Codes]:
    document, position = items.document, items.position

    def places(rows: Codes) -> Codes:
        in_order = document[rows] != MISSING
        return np.where(in_order, reading.places(document[rows], position[rows]), len(reading))

    return places


def _spans(places: Codes, margin: int, size: int) -> list[tuple[int, int]]:
    """Return the stretches of places that are at most ``margin`` from one of some, ascending."""
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > 2 * margin)
    firsts = [int(places[0]), *places[breaks + 1].tolist()]
    lasts = [*places[breaks].tolist(), int(places[-1])]
    return [
        (max(first - margin, 0), min(last + margin + 1, size))
        for first, last in zip(firsts, lasts, strict=True)
    ]


def _same(order: Codes, groups: Sequence[Labels]) -> NDArray[np.bool_]:
    """Return whether the item at each place of ``order`` is in the groups of the one before."""
    same = np.ones(len(order), dtype=np.bool_)
    same[:1] = False  # the first item has nothing before it
    for group in groups:
        same[1:] &= np.diff(group[order]) == 0
    return same
