"""Exact scores for the best rows, where all were scored by vectors in eight bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from treering.arrays import Codes, Floats, are_among, union
from treering.embed.quantised import LARGEST
from treering.search.own import ScaledScores
from treering.search.related import LEAST_SHARE
from treering.search.relations.contract import Operator, is_local
from treering.search.snapshot import Snapshot

MARGIN = 3.0
"""Steps between two codes of a unit vector by which cosines count as off. Rounding row and query
leaves a cosine off by .4 of a step (the standard deviation), and what relations add by less, as
that is a mean of many: of two scores ten such deviations."""


class WeightedScores(Protocol):
    """A relation's scores, shape (N, Q), which are ``weight·operator(own)``."""

    @property
    def values(self) -> Floats: ...  # noqa: D102

    @property
    def operator(self) -> Operator: ...  # noqa: D102

    def weight(self, rows: Codes) -> Floats: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Refinement:
    """What is needed to make scores exact: it changes raw cosines, relations' scores and totals.

    A relation that mixes many rows is left as it is: the errors of many cancel out. One that mixes
    a few neighbours gets the exact scores of those. ``alpha`` is what relations count together.

    ``exact`` gives the cosines of rows, ascending, with a query. Where ``is_partial`` most rows are
    at the mean of all until it has: nothing is known of how far off they are.
    """

    snapshot: Snapshot
    cosine: Floats
    dense: ScaledScores
    vectors: Floats
    related: Sequence[WeightedScores]
    alpha: float
    share: Floats | None
    exact: Callable[[Codes, int], Floats]
    is_partial: bool = False
    refined: dict[int, Codes] = field(default_factory=dict)
    """The rows whose cosines are exact already, by query, ascending."""

    def margin(self, query: int) -> float:
        """What the exact scores of two rows may differ by more or less than those they have."""
        step = float(np.abs(self.vectors[query]).max(initial=0)) / LARGEST
        return MARGIN * step * float(self.dense.scale[query]) * (1 + self.alpha)

    def refine(self, scores: Floats, rows: Codes, query: int) -> None:
        """Make the scores of some rows, given ascending, exact for a query."""
        near = reached(self.related, rows, LEAST_SHARE)
        near = near[self.snapshot.embedded[near]]
        own = np.zeros(len(near), dtype=np.float32)
        is_new = ~are_among(near, self.refined.get(query, near[:0]))
        if not is_new.any():
            return
        new = near[is_new]
        cosines = self.exact(new, query)
        own[is_new] = (cosines - self.cosine[new, query]) * self.dense.scale[query]
        self.cosine[new, query] = cosines
        self.refined[query] = union(self.refined.get(query, new), new)
        pass_on(self.related, own, near, query, scores, self.share)


def reached(related: Sequence[WeightedScores], rows: Codes, least: float) -> Codes:
    """Some rows and those whose scores they change by a share of ``least``, ascending."""
    near = rows
    for part in related:
        if is_local(part.operator):
            near = union(near, part.operator.near(rows, least))
    return near


def pass_on(
    related: Sequence[WeightedScores],
    own: Floats,
    near: Codes,
    query: int,
    scores: Floats,
    share: Floats | None,
) -> None:
    """Add what own scores have changed by at some rows, ``near``, to scores of shape (N, Q).

    With it goes what relations to few rows make of it; those to many stay as they are.
    """
    change = own.copy()
    for part in related:
        if is_local(part.operator):
            passed = part.operator.among(near, own) * part.weight(near)
            part.values[near, query] += passed
            change += passed
    scores[near, query] += change if share is None else change * share[near]
