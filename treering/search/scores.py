"""The base score of every fragment (FragRel eq. 4): BM25 and cosine on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, borrow_array, for_each_piece, pieces, without
from treering.records import KINDS, Kind, Mode
from treering.search.lexical import Corpus
from treering.search.relations.contract import LEARNED
from treering.search.snapshot import NO_ROWS, Cosines, Snapshot, Spread, Wanted
from treering.search.vectors import power_sums

UNREAD = np.float32(0.2)
"""The weight of cosines for a query in a language that the bundled model has not learned. XQuAD
recall@10 in Arabic, Chinese and Russian is 98.2 to 99.0 for anything from 0 to 0.35; a weight of 1
finds 96.5 to 98.2. In German and Spanish it finds as much with either, and with 1 the noise of a
small space outweighs the time that a question names."""

FLAT = 1e-6  # relative to the scores: the rounding of a constant column in float32

MANY = 1 << 16  # scores for which one pass for mean and deviation is worth importing numkong


@dataclass(frozen=True, slots=True)
class ScaledScores:
    """``scale · (raw − centre)`` for the raw scores of N rows, 0 for the rows in ``silent``.

    Values are computed when they are read.
    """

    raw: Floats
    scale: np.float32
    centre: np.float32
    silent: Codes

    def at(self, row: int) -> float:
        """Return the value of one row."""
        if row in self.silent:
            return 0.0
        return float((self.raw[row] - self.centre) * self.scale)

    def times(self, factor: np.float32) -> ScaledScores:
        """Return the scores times a factor."""
        return replace(self, scale=self.scale * factor)

    def add_to(self, total: Floats, share: Floats | None = None) -> None:  # noqa: ARG002
        """Add them to scores of the same shape."""
        before = total[self.silent]

        def add(rows: slice) -> None:
            scaled = self.raw[rows] - self.centre
            scaled *= self.scale
            total[rows] += scaled

        for_each_piece(add, len(total))
        total[self.silent] = before


@dataclass(frozen=True, slots=True)
class UnionStatistics:
    """The statistics of a query over all fragments of several spaces.

    ``chats`` is the share of chats among the fragments. ``words`` and ``meaning`` are the spreads
    of BM25 and of cosines; None for those of each space.
    """

    corpus: Corpus
    kinds: tuple[Kind, ...]
    chats: float
    words: Spread | None = None
    meaning: Spread | None = None


OwnScores = Mapping[str, ScaledScores]
"""The terms of the base score."""


def own_total(own: OwnScores, size: int) -> Floats:
    """Return the sum of the own terms of so many rows."""
    total: Floats = borrow_array((size,))
    total[:] = 0
    for term in own.values():
        term.add_to(total)
    return total


def cosine_scores(
    snapshot: Snapshot,
    vector: Floats | None,
    mode: Mode,
    bm25: Floats | None = None,
    wanted: Wanted | None = None,
) -> Cosines | None:
    """Return the cosine of every fragment with a query; None if vectors take no part.

    In a space that cannot compute all cosines, those of the ``wanted`` rows are computed.
    """
    if mode == "lexical" or vector is None or not snapshot.embedded.any():
        return None
    return snapshot.cosines(snapshot.items, vector, bm25, wanted)


def fuse(
    snapshot: Snapshot,
    bm25: Floats | None,
    cosines: Cosines | None,
    readable: bool | None = None,
    union: UnionStatistics | None = None,
) -> OwnScores:
    """Standardise both scores over the space, or over a ``union`` of spaces; BM25 of chats counts
    by its learned weight.

    The cosines of a query that the embedding model cannot read count ``UNREAD``.
    """
    terms: dict[str, ScaledScores] = {}
    words, meaning = (union.words, union.meaning) if union else (None, None)
    if bm25 is not None:
        terms["lexical"] = scale_scores(bm25, None, words)
    if cosines is not None:
        spread = meaning or cosines.spread
        terms["dense"] = scale_scores(cosines.values, ~snapshot.embedded, spread)
    if bm25 is not None and cosines is not None:
        chats = chat_share(snapshot) if union is None else union.chats
        terms["lexical"] = terms["lexical"].times(_word_weight(chats))
        if readable is False:
            terms["dense"] = terms["dense"].times(UNREAD)
    return terms


def chat_share(snapshot: Snapshot) -> float:
    """Return the share of chats among the fragments."""
    if "chat" not in snapshot.kinds:
        return 0.0
    is_alone = len(snapshot.kinds) == 1
    return 1.0 if is_alone else float(np.mean(snapshot.kind == KINDS.index("chat")))


def _word_weight(chats: float) -> np.float32:
    """Return the weight of BM25 beside the cosine: the more of a space is chats, the less.

    Its best scores lie eight deviations above the mean, those of cosines four: added as they are,
    the words alone decide. In texts they do.
    """
    return np.float32(1 + (LEARNED["lexical"] - 1) * chats)


def standardise(column: Floats) -> Floats:
    """Put scores, shape (N,), into standard deviations from their mean, in place; return them."""
    terms = scale_scores(column)

    def scale(rows: slice) -> None:
        part = column[rows]
        part -= terms.centre
        part *= terms.scale

    for_each_piece(scale, len(column))
    return column


def scale_scores(
    scores: Floats,
    silent: NDArray[np.bool_] | None = None,
    spread: Spread | None = None,
) -> ScaledScores:
    """Return scores, shape (N,), in standard deviations from their mean.

    Mean and deviation are those of ``spread``, or of the rows that are not ``silent``. Silent rows
    get 0, the mean: a missing vector says nothing about its fragment.
    """
    left_out = NO_ROWS if silent is None else np.flatnonzero(silent)
    if spread is not None:
        centre, deviation = spread.centre, spread.deviation
    else:
        centre, deviation = map(np.float32, moments(without(scores, left_out)))
    # Equal scores leave rounding errors, which must not be blown up to scores of their own.
    is_flat = float(deviation) <= FLAT * max(abs(float(centre)), 1.0)
    scale = np.float32(0) if is_flat else 1 / deviation
    return ScaledScores(scores, scale, centre, left_out)


def moments(scores: Floats) -> tuple[float, float]:
    """Return mean and standard deviation of some scores, shape (N,)."""
    size = max(len(scores), 1)
    if size >= MANY:
        total, squares = _power_sums(scores)
        return total / size, sqrt(max(squares / size - (total / size) ** 2, 0))
    centre = np.float32(sum(float(scores[piece].sum()) for piece in pieces(len(scores))) / size)
    squares = 0.0
    for piece in pieces(len(scores)):
        distance = scores[piece] - centre
        squares += float(np.einsum("n,n->", distance, distance))
    return float(centre), sqrt(squares / size)


def _power_sums(scores: Floats) -> tuple[float, float]:
    """The sums of scores, shape (N,), and of their squares, by pieces."""
    of_pieces: dict[int, tuple[float, float]] = {}

    def add_up(rows: slice) -> None:
        of_pieces[rows.start] = power_sums(scores[rows])

    for_each_piece(add_up, len(scores))
    # In one order, so that sums of the same scores are the same.
    pairs = [of_pieces[start] for start in sorted(of_pieces)]
    return sum(total for total, _ in pairs), sum(squares for _, squares in pairs)


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
    """Mean and deviation of the scores of N fragments."""

    centre: float
    deviation: float
    spread: float

    @classmethod
    def from_scores(cls, scores: Floats, cosines: Cosines | None = None) -> Standings:
        """Return those of scores of shape (N,) that include the known ``cosines``."""
        if cosines is None or cosines.spread is None:
            centre, deviation = moments(scores)
        else:
            centre, deviation = _sample_moments(scores, cosines.known, cosines.spread.sample)
        return cls(centre, deviation, sqrt(2 * log(len(scores) + 2)))

    def stand_out(self, score: float) -> float:
        """Return 0 for the mean, or if all are equal; about 1 for the best by chance."""
        if self.deviation <= FLAT * max(abs(self.centre), 1):
            return 0.0
        return (score - self.centre) / self.deviation / self.spread


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
