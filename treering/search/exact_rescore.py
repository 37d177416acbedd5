"""Exact scores for the best rows, where all were scored by vectors in eight bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from treering.arrays import Codes, Floats, are_among, union
from treering.embed.quantised import LARGEST
from treering.search.relations.contract import is_local
from treering.search.scores import ScaledScores
from treering.search.snapshot import Cosines, Snapshot

if TYPE_CHECKING:
    from treering.search.pipeline import EnvironmentPart

LEAST_SHARE = 0.02
"""Neighbours of which a relation passes on less are not looked for."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """Makes scores exact: it changes raw cosines, relations' scores and totals.

    A relation that mixes a few neighbours gets the exact scores of those. In one that mixes many
    rows the errors cancel out, so it stays. ``alpha`` is the weight of all relations together.
    ``exact`` reads the vectors of rows, ascending, as they were embedded.
    """

    snapshot: Snapshot
    cosines: Cosines
    dense: ScaledScores
    vectors: Floats
    related: Sequence[EnvironmentPart]
    alpha: float
    share: Floats | None
    exact: Callable[[Codes], Floats]
    refined: dict[int, Codes] = field(init=False)
    """The rows whose cosines are exact already, by query, ascending."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "refined", dict(enumerate(self.cosines.known)))

    def margin(self, query: int) -> float:
        """Return by how much the difference of two exact scores may differ from theirs now."""
        step = float(np.abs(self.vectors[query]).max(initial=0)) / LARGEST
        return self.cosines.doubt.steps * step * float(self.dense.scale[query]) * (1 + self.alpha)

    def refine(self, scores: Floats, rows: Codes, query: int) -> None:
        """Make the scores of some rows, given ascending, exact for a query."""
        near = rows
        for part in self.related:
            if is_local(part.operator):
                near = union(near, part.operator.near(rows, LEAST_SHARE))
        near = near[self.snapshot.embedded[near]]
        own = np.zeros(len(near), dtype=np.float32)
        is_new = ~are_among(near, self.refined.get(query, near[:0]))
        if not is_new.any():
            return
        new = near[is_new]
        cosines, values = np.asarray(self.exact(new) @ self.vectors[query]), self.cosines.values
        own[is_new] = (cosines - values[new, query]) * self.dense.scale[query]
        values[new, query] = cosines
        self.refined[query] = union(self.refined.get(query, new), new)
        self._pass_on(own, near, query, scores)

    def _pass_on(self, own: Floats, near: Codes, query: int, scores: Floats) -> None:
        """Add the change of own scores at ``near``, and what local relations make of it."""
        change = own.copy()
        for part in self.related:
            if is_local(part.operator):
                passed = part.operator.among(near, own) * part.weight(near)
                part.values[near, query] += passed
                change += passed
        scores[near, query] += change if self.share is None else change * self.share[near]
