"""How sure a hit is: the probability that it answers its query, from its own score terms.

A search always finds its k best, however bad. The confidence is the product of two logistic models:
whether the memory answers the query (by the rare words in the best hits, their meaning and their
distance from the others), and if so, whether this hit does (by its lead over the next one).

They were fitted to 2,281 questions of eight sets: turns, notes, facts and passages in English,
German and Chinese, some without their evidence. On a set that was left out, a floor of 0.1 shows
hits of which 61 % are right, and a right one for 93 % of the questions that have one in the best
five.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Final

import numpy as np

from treering.arrays import Codes, Floats
from treering.search.fusion import FLAT, moments
from treering.search.snapshot import Cosines

FEATURES: Final = ("coverage", "cosine", "standing")
"""The features of a hit.

``coverage`` is the share of the query's idf mass that the hit holds; unknown terms count most.
``cosine`` is that of the bundled model for English queries; other models spread theirs differently.
``standing`` is the score in standard deviations from the mean of all fragments, divided by that of
the best of as many random ones.
"""

TOP: Final = 5  # the best hits, by which a memory answers a query or not

RELEVANT: Final = 0.25
"""The floor of hooks and other recall that no user asked for. On sets that were left out it shows
nothing for 69 % of the questions about something else, and a right hit for 77 % of the others."""

BUNDLED: Final = "minilm"
_MOST: Final = 50.0  # exp of more overflows nowhere but says nothing more


@dataclass(frozen=True, slots=True)
class ConfidenceModel:
    """A logistic model of the features that it has weights for."""

    bias: float
    weights: Mapping[str, float]

    def probability(self, features: Mapping[str, float]) -> float:
        """From 0 to 1."""
        total = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + exp(-max(min(total, _MOST), -_MOST)))


MODELS: Final[tuple[ConfidenceModel, ...]] = (
    ConfidenceModel(-3.97, {"coverage": 1.89, "cosine": 3.45, "standing": 1.01}),
    ConfidenceModel(-2.54, {"coverage": 2.45, "standing": 1.07}),
    ConfidenceModel(-3.85, {"cosine": 4.27, "standing": 1.2}),
    ConfidenceModel(-1.95, {"standing": 1.4}),
)
"""Whether the memory answers, by the best of each feature: the first model with all its features.
They are for words and the bundled model; words without it; the bundled model alone; another alone.
"""

LEAD: Final = ConfidenceModel(0.23, {"lead": 2.94})
"""Whether a hit is right, by how much its standing is ahead of the next or behind the best."""


def confidences(
    hits: Sequence[Mapping[str, float]], top: Sequence[Mapping[str, float]]
) -> list[float]:
    """Return the probability of each hit to answer its query, by its features and the ``TOP``'s."""
    best = {
        name: max(of_hit[name] for of_hit in top if name in of_hit)
        for name in FEATURES
        if any(name in of_hit for of_hit in top)
    }
    model = next(model for model in MODELS if model.weights.keys() <= best.keys())
    answers = model.probability(best)
    first, second = (sorted((of_hit["standing"] for of_hit in top), reverse=True) * 2)[:2]
    leads = (
        standing - (second if standing >= first else first)
        for standing in (of_hit["standing"] for of_hit in hits)
    )
    return [answers * LEAD.probability({"lead": max(min(lead, 1.0), -1.0)}) for lead in leads]


@dataclass(frozen=True, slots=True)
class Standings:
    """Mean and deviation of the scores of Q queries over N fragments."""

    centre: Floats
    deviation: Floats
    spread: float

    @classmethod
    def from_scores(cls, scores: Floats, cosines: Cosines | None = None) -> Standings:
        """Return those of scores of shape (N, Q) that include the known ``cosines``."""
        if cosines is None or cosines.spread is None:
            columns = [moments(column) for column in scores.T]
        else:
            pairs, sample = zip(scores.T, cosines.known, strict=True), cosines.spread.sample
            columns = [_sample_moments(column, rows, sample) for column, rows in pairs]
        centre, deviation = np.array(columns, dtype=np.float32).reshape(-1, 2).T
        return cls(centre, deviation, sqrt(2 * log(len(scores) + 2)))

    def stand_out(self, score: float, query: int) -> float:
        """Return 0 for the mean, or if all are equal; about 1 for the best by chance."""
        centre, deviation = float(self.centre[query]), float(self.deviation[query])
        if deviation <= FLAT * max(abs(centre), 1):
            return 0.0
        return (score - centre) / deviation / self.spread


def _sample_moments(scores: Floats, whole: Codes, sample: Codes) -> tuple[float, float]:
    """Return mean and deviation of scores: ``whole`` rows count all, others by a ``sample``.

    The few that stand out make much of the deviation.
    """
    others = np.setdiff1d(sample, whole)
    share = len(whole) / len(scores) if len(others) else 1.0
    parts = [(share, *moments(scores[whole])), (1 - share, *moments(scores[others]))]
    centre = sum(weight * mean for weight, mean, _ in parts)
    squares = sum(weight * (spread**2 + mean**2) for weight, mean, spread in parts)
    return centre, sqrt(max(squares - centre**2, 0))
