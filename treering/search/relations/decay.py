"""Relations that fade along a line: context (FragRel eq. 7) and time.

Along a chain of items with the factor f_i between item i - 1 and i, W[i, j] is the product of the
factors between i and j. ``W·s`` is then two first-order recursions, ``F_i = s_i + f_i·F_{i-1}``
forward and the mirror image backward, minus s, counted twice. Each recursion is a bidiagonal
triangular solve, exact and O(N); a factor of zero is a border that nothing crosses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treering import forks
from treering.arrays import Codes, Floats
from treering.errors import InputError
from treering.search.relations.columns import by_column
from treering.search.relations.contract import MISSING, Items, Operator

DAY_S = 86_400.0


class DecayOperator:
    """W of chains: ``order`` lists the items chain by chain, ``factors[k]`` links k - 1 to k.

    Items that are not in ``order`` are related to nothing.
    """

    def __init__(self, order: Codes, factors: Floats, size: int) -> None:
        self._order: Codes | None = order
        if len(order) == size and np.array_equal(order, np.arange(size)):
            self._order = None  # nothing to gather or scatter
        self._size = size
        # Column-major banded storage of I - shift(f): row 0 the diagonal, row 1 below it.
        bands = np.zeros((2, len(order)), dtype=np.float32, order="F")
        bands[0] = 1
        if len(order):
            bands[1, :-1] = -factors[1:]
        self._bands = bands

    def propagate(self, scores: Floats) -> Floats:
        """``W·scores``, shape (N,) or (N, Q)."""
        return by_column(self._propagate_column, scores)

    def mass(self) -> Floats:
        """``W·1``."""
        return self._propagate_column(np.ones(self._size, dtype=np.float32))

    def _propagate_column(self, scores: Floats) -> Floats:
        chain = np.ascontiguousarray(scores if self._order is None else scores[self._order])
        if not len(chain):
            return np.zeros(self._size, dtype=np.float32)
        with forks.importing():
            from scipy.linalg import blas  # here, as it takes a quarter of a second to import

        # Solving (I - shift(f))·x = s is the recursion x_i = s_i + f_i·x_{i-1}; the transposed
        # matrix runs it from the end. Both count an item's own score, so one of them is taken off.
        forward = blas.stbsv(1, self._bands, chain, lower=1, diag=1)
        backward = blas.stbsv(1, self._bands, chain, lower=1, diag=1, trans=1)
        forward += backward
        forward -= chain
        if self._order is None:
            result: Floats = forward
            return result
        scattered = np.zeros(self._size, dtype=np.float32)
        scattered[self._order] = forward
        return scattered


@dataclass(frozen=True, slots=True)
class ContextRelation:
    """FragRel's context relation, eq. 7: ``w^|loc_i − loc_j|`` inside a document, else 0.

    With ``within="session"`` a session border is crossed no more than a document border.
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
        order = np.lexsort((items.position, items.document))
        order = order[items.document[order] != MISSING]
        groups = [items.document]
        if self.within == "session":
            groups.append(items.session)
        # The weight falls with the distance of positions: where items between two are missing,
        # their factors are part of the one factor that spans the gap.
        steps = np.diff(items.position[order], prepend=0)
        factors = np.power(self.w, steps.clip(min=0)).astype(np.float32)
        return DecayOperator(order, np.where(_same(order, groups), factors, 0), len(items))


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


def _same(order: Codes, groups: list[Codes]) -> NDArray[np.bool_]:
    """Whether the item at each place of ``order`` is in the groups of the one before it."""
    same = np.ones(len(order), dtype=np.bool_)
    same[:1] = False  # the first item has nothing before it
    for group in groups:
        same[1:] &= np.diff(group[order]) == 0
    return same
