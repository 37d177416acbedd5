"""Exact scores for the best rows, where all were scored by vectors in eight bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from treering.arrays import Codes, Floats
from treering.search.own import ScaledScores
from treering.search.related import LEAST_SHARE
from treering.search.relations.contract import LocalOperator, Operator
from treering.search.snapshot import Snapshot


class WeightedScores(Protocol):
    """A relation's scores, shape (N, Q), which are ``weight·operator(own)``."""

    @property
    def values(self) -> Floats: ...  # noqa: D102

    @property
    def weight(self) -> Floats: ...  # noqa: D102

    @property
    def operator(self) -> Operator: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Refinement:
    """What is needed to make scores exact: it changes raw cosines, relations' scores and totals.

    A relation that mixes many rows is left as it is: the errors of many cancel out. One that mixes
    a few neighbours gets the exact scores of those.
    """

    snapshot: Snapshot
    cosine: Floats
    dense: ScaledScores
    vectors: Floats
    related: Sequence[WeightedScores]
    share: Floats | None
    exact: Callable[[Codes], Floats]

    def refine(self, scores: Floats, rows: Codes, query: int) -> None:
        """Make the scores of some rows, given ascending, exact for a query."""
        local = [
            (part, operator)
            for part in self.related
            if isinstance(operator := part.operator, LocalOperator)
        ]
        near = rows
        for _, operator in local:
            near = np.union1d(near, operator.near(rows, LEAST_SHARE))
        near = near[self.snapshot.embedded[near]]
        vectors = self.exact(near)
        cosines = vectors @ self.vectors[query]
        own = (cosines - self.cosine[near, query]) * self.dense.scale[query]
        self.cosine[near, query] = cosines
        change = own.copy()
        for part, operator in local:
            related = operator.among(near, own) * part.weight[near]
            part.values[near, query] += related
            change += related
        scores[near, query] += change if self.share is None else change * self.share[near]
