"""The own score of every fragment (FragRel eq. 4): BM25 and cosine on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from treering.fragments.table import Snapshot
from treering.relate.contract import Floats
from treering.score.terms import Terms

Mode = Literal["hybrid", "lexical", "dense"]
MODES: tuple[Mode, ...] = ("hybrid", "lexical", "dense")


@dataclass(frozen=True, slots=True)
class Own:
    """Scores of N fragments for Q queries. The own score is the sum of ``terms``.

    ``bm25`` and ``cosine`` are the raw scores, shape (N, Q); None where a scorer took no part.
    """

    terms: dict[str, Floats]
    bm25: Floats | None
    cosine: Floats | None

    def total(self) -> Floats:
        """The own score, shape (N, Q)."""
        return np.asfortranarray(sum(self.terms.values()), dtype=np.float32)


def own_scores(
    snapshot: Snapshot, queries: list[Terms], vectors: Floats | None, mode: Mode
) -> Own:
    """Score every fragment for every query; ``vectors`` has one unit row a query."""
    bm25 = None
    if mode != "dense":
        columns = [snapshot.lexical.score(query) for query in queries]
        bm25 = np.stack(columns, axis=1) if columns else None
    cosine = None
    if mode != "lexical" and vectors is not None and snapshot.embedded.any():
        cosine = snapshot.items.vectors @ vectors.T
    terms: dict[str, Floats] = {}
    if bm25 is not None:
        terms["lexical"] = standardised(bm25)
    if cosine is not None:
        terms["dense"] = standardised(cosine, snapshot)
    return Own(terms, bm25, cosine)


def standardised(scores: Floats, snapshot: Snapshot | None = None) -> Floats:
    """Scores in standard deviations from their mean, each column by itself.

    Given a snapshot, mean and deviation are of the embedded fragments and the others get 0, the
    mean: not knowing a fragment's vector says nothing about it.
    """
    known = scores if snapshot is None else scores[snapshot.embedded]
    mean = known.mean(axis=0, dtype=np.float64).astype(np.float32)
    deviation = known.std(axis=0, dtype=np.float64).astype(np.float32)
    result: Floats = (scores - mean) / np.where(deviation > 0, deviation, 1)
    if snapshot is not None:
        result[~snapshot.embedded] = 0
    return result
