"""How sure a hit is: the probability that it answers its query, from its own score terms.

A search always finds its k best. Whether the best is any good cannot be told from a rank, nor from
a score that is a sum of standard deviations. A logistic model can tell, of how much of the query's
rare words the hit holds, how near the two are in meaning, and how far the hit stands out from all
others. It was fitted to questions that were asked of a memory with their evidence, and of the same
memory without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Final

import numpy as np

from treering.arrays import Codes, Floats
from treering.search.fusion import FLAT, moments
from treering.search.snapshot import Cosines

FEATURES: Final = ("coverage", "cosine", "standing")
"""What the model knows of a hit.

``coverage`` is the share of the query's idf mass that the hit holds; terms that the memory does not
know count too, and most. ``cosine`` is that of the bundled embedding model; other models spread
theirs differently. ``standing`` is the whole score in standard deviations from the mean of all
fragments, divided by what the best of so many random ones would have.
"""

RELEVANT: Final = 0.05
"""Below it a hit is left out of what nobody asked for, such as what a hook puts before a prompt. On
LoCoMo and FairytaleQA it leaves nothing in 86 and 94 % of the contexts of questions about something
else, and nothing in 7 and 15 % of those whose evidence is there."""

BUNDLED: Final = "minilm"
_MOST: Final = 50.0  # exp of more overflows nowhere but says nothing more


@dataclass(frozen=True, slots=True)
class ConfidenceModel:
    """A logistic model; the features that it has no weight for take no part."""

    bias: float
    weights: Mapping[str, float]

    def probability(self, features: Mapping[str, float]) -> float:
        """From 0 to 1."""
        total = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + exp(-max(min(total, _MOST), -_MOST)))


MODELS: Final[tuple[ConfidenceModel, ...]] = (
    ConfidenceModel(-6.38, {"coverage": 3.17, "cosine": 2.78, "standing": 0.81}),
    ConfidenceModel(-5.23, {"coverage": 3.32, "standing": 0.93}),
    ConfidenceModel(-6.14, {"cosine": 3.49, "standing": 1.52}),
    ConfidenceModel(-4.66, {"standing": 1.71}),
)
"""The model for what is known of a hit: the first whose features are all there. They are for words
and the bundled model; words alone or with another model; the bundled model alone; another alone."""


def confidence(features: Mapping[str, float]) -> float:
    """The probability that a hit with these features answers its query."""
    model = next(model for model in MODELS if model.weights.keys() <= features.keys())
    return model.probability(features)


@dataclass(frozen=True, slots=True)
class Standings:
    """Mean and deviation of the scores of Q queries, to tell how far one stands out of N."""

    centre: Floats
    deviation: Floats
    spread: float

    @classmethod
    def of(cls, scores: Floats, cosines: Cosines | None = None) -> Standings:
        """Those of scores of shape (N, Q), to which the known ``cosines`` have been added."""
        if cosines is None or cosines.spread is None:
            columns = [moments(column) for column in scores.T]
        else:
            pairs, sample = zip(scores.T, cosines.known, strict=True), cosines.spread.sample
            columns = [_sampled(column, rows, sample) for column, rows in pairs]
        centre, deviation = np.array(columns, dtype=np.float32).reshape(-1, 2).T
        return cls(centre, deviation, sqrt(2 * log(len(scores) + 2)))

    def standing(self, score: float, query: int) -> float:
        """0 for a score like the mean or where all are equal, about 1 for the best by chance."""
        centre, deviation = float(self.centre[query]), float(self.deviation[query])
        if deviation <= FLAT * max(abs(centre), 1):
            return 0.0
        return (score - centre) / deviation / self.spread


def _sampled(scores: Floats, whole: Codes, sample: Codes) -> tuple[float, float]:
    """Mean and deviation of scores of which some are ``whole``, by a ``sample`` of the others.

    The few that stand out would be missing from a sample, and they make much of the deviation.
    """
    others = np.setdiff1d(sample, whole)
    share = len(whole) / len(scores) if len(others) else 1.0
    parts = [(share, *moments(scores[whole])), (1 - share, *moments(scores[others]))]
    centre = sum(weight * mean for weight, mean, _ in parts)
    squares = sum(weight * (spread**2 + mean**2) for weight, mean, spread in parts)
    return centre, sqrt(max(squares - centre**2, 0))
