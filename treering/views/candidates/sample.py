"""A random sample of fragments with their neighbours, for the spread of all scores.

Own scores count in standard deviations from the mean of the whole space, and the confidence of a
hit depends on its distance from the others. A few thousand vectors are enough for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, union
from treering.search.snapshot import Cosines, Doubt, Snapshot, Spread

DRAWN: Final = 256
"""Random fragments, besides their neighbours. They estimate the spread of scores; the best scores
are known exactly."""

LIKENESS: Final = 8_192
"""Fragments whose vectors give mean and deviation of all cosines, to 1 % of the deviation."""

BESIDE: Final = 6
"""Rows on either side of each, whose scores count at it by the relations."""

UNKNOWN: Final = Doubt(steps=1e6, rows=128)
"""The error of an estimated cosine is unknown. Terms added after the cosines may bring such rows to
the front."""

GROWN: Final = 1.25
LOST: Final = 0.1
"""A sample is drawn again when the space has grown by ``GROWN``, or ``LOST`` of it was erased."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Fragments by id, ascending, of which some were ``drawn``, and their vectors, (n, d).

    ``mean``, (d,), and ``covariance``, (d, d), are those of the vectors of more fragments: of any
    query they give mean and deviation of its cosines.
    """

    fragment: Codes
    is_drawn: NDArray[np.bool_]
    vectors: Floats
    mean: Floats
    covariance: Floats
    model: int
    size: int

    @classmethod
    def draw(
        cls, snapshot: Snapshot, exact: Callable[[Codes], Floats], drawn: int = DRAWN
    ) -> Sample:
        """A sample of the embedded fragments of a snapshot; all, if they are few."""
        embedded = np.flatnonzero(snapshot.embedded)
        rng = np.random.default_rng(len(embedded))
        chosen, rows = embedded, embedded
        if len(embedded) > drawn * (2 * BESIDE + 1):
            chosen = np.sort(rng.choice(embedded, drawn, replace=False))
            rows = _beside(snapshot, chosen)
        if len(embedded) > LIKENESS:
            embedded = np.sort(rng.choice(embedded, LIKENESS, replace=False))
        vectors = exact(embedded)
        mean: Floats = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        vectors -= mean
        model = snapshot.state.model
        return cls(
            fragment=snapshot.fragment[rows].copy(),
            is_drawn=np.isin(rows, chosen),
            vectors=exact(rows),
            mean=mean,
            covariance=vectors.T @ vectors / np.float32(max(len(vectors), 1)),
            model=0 if model is None else model.id,
            size=len(snapshot),
        )

    def fits(self, snapshot: Snapshot, rows: Codes) -> bool:
        """Whether the sample, of which ``rows`` are there, still stands for a snapshot."""
        model = snapshot.state.model
        return (
            model is not None
            and model.id == self.model
            and len(snapshot) <= GROWN * self.size
            and len(rows) >= (1 - LOST) * len(self.fragment)
        )

    def there(self, snapshot: Snapshot) -> tuple[Codes, Codes]:
        """Which of the sample are still there, and their rows."""
        rows = np.searchsorted(snapshot.fragment, self.fragment)
        rows = np.minimum(rows, max(len(snapshot) - 1, 0))
        which = np.flatnonzero(snapshot.fragment[rows] == self.fragment)
        return which, rows[which]

    def cosines(
        self,
        size: int,
        there: tuple[Codes, Codes],
        queries: Floats,
        looked_up: Sequence[tuple[Codes, Floats]],
    ) -> Cosines:
        """Cosines of ``size`` rows with Q queries: those looked up, given as rows and values, and
        those of the part of the sample that is ``there``.

        All others are at the mean of all.
        """
        which, rows = there
        vectors = self.vectors if len(which) == len(self.vectors) else self.vectors[which]
        # A product so small is sooner done than shared among threads, as ``@`` does.
        sampled = np.einsum("nd,qd->nq", vectors, queries)
        centre: Floats = queries @ self.mean
        variance = np.einsum("qd,qd->q", queries @ self.covariance, queries)
        deviation: Floats = np.sqrt(np.maximum(variance, 0))
        values = np.empty((size, len(queries)), dtype=np.float32, order="F")
        values[:] = centre
        values[rows] = sampled
        for query, (of_query, cosines) in enumerate(looked_up):
            values[of_query, query] = cosines
        known = [union(of_query) for of_query, _ in looked_up]
        spread = Spread(centre, deviation, rows[self.is_drawn[which]])
        return Cosines(values, known, spread, UNKNOWN)


def _beside(snapshot: Snapshot, rows: Codes) -> Codes:
    """These rows and those read a little before and after them that are embedded."""
    reading, items = snapshot.items.reading, snapshot.items
    assert reading is not None  # snapshots of spaces have their order
    places = reading.places(items.document[rows], items.position[rows])
    every = places[:, None] + np.arange(-BESIDE, BESIDE + 1)
    every = np.unique(every[(every >= 0) & (every < len(reading))])
    near = np.union1d(rows, reading.rows[every].astype(np.int64))
    result: Codes = near[snapshot.embedded[near]]
    return result
