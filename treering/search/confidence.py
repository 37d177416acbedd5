"""How sure a hit is: the probability that it answers its query, from its own score terms.

A search always finds its k best. Whether the best is any good cannot be told from a rank, nor from
a score that is a sum of standard deviations. Two logistic models can tell, and their product is the
confidence: whether the memory answers the query, by how much of its rare words the best hits hold,
how near they are in meaning and how far they stand out from all others; and if so, whether this hit
does, by how far it is ahead of the next one or behind the best.

The models were fitted to 2,281 questions of eight sets: turns, notes, facts and passages, in
English, German and Chinese, some of them asked without their evidence. On a set that was left out,
a floor of 0.1 shows hits of which 61 % are right (the mean of the eight), and a right one for 93 %
of the questions that have one among the best five.
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
"""What the model knows of a hit.

``coverage`` is the share of the query's idf mass that the hit holds; terms that the memory does not
know count too, and most. ``cosine`` is that of the bundled embedding model, for queries in the
language that it reads; other models spread theirs differently. ``standing`` is the whole score in
standard deviations from the mean of all fragments, divided by what the best of so many random ones
would have.
"""

TOP: Final = 5
"""The best hits, by which a memory answers a query or not."""

RELEVANT: Final = 0.25
"""Below it a hit is left out of what nobody asked for, such as what a hook puts before a prompt. On
sets that were left out it shows nothing for 69 % of the questions about something else, and a right
hit for 77 % of those that have one."""

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
    ConfidenceModel(-3.97, {"coverage": 1.89, "cosine": 3.45, "standing": 1.01}),
    ConfidenceModel(-2.54, {"coverage": 2.45, "standing": 1.07}),
    ConfidenceModel(-3.85, {"cosine": 4.27, "standing": 1.2}),
    ConfidenceModel(-1.95, {"standing": 1.4}),
)
"""Whether the memory answers, by the best of each feature: the first model whose features are all
there. They are for words and the bundled model; words alone, with another model or for a query that
the bundled one does not read; the bundled model alone; another alone."""

LEAD: Final = ConfidenceModel(0.23, {"lead": 2.94})
"""Whether a hit is right where the memory answers, by how much its standing is ahead of the next
one's or behind the best."""


def confidences(
    hits: Sequence[Mapping[str, float]], top: Sequence[Mapping[str, float]]
) -> list[float]:
    """The probability of each hit that it answers its query, by its features and the ``TOP``'s."""
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
    """Mean and deviation of the scores of Q queries, to tell how far one stands out of N."""

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
