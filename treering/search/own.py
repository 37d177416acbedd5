"""The own score of every fragment (FragRel eq. 4): BM25 and cosine on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from treering.arrays import Floats
from treering.search.relations.contract import cosines
from treering.search.snapshot import Snapshot
from treering.search.terms import Terms

Mode = Literal["hybrid", "lexical", "dense"]
MODES: tuple[Mode, ...] = ("hybrid", "lexical", "dense")

FULL_COVERAGE = np.float32(0.4)
"""Typical coverage is 0.7 where BM25 does well and below 0.2 where it does badly; anything from 0.3
to 0.7 recalls equally well."""

FLAT = 1e-6  # relative to the scores: what float32 rounding makes of a constant column


@dataclass(frozen=True, slots=True)
class RawScores:
    """Scores of N fragments for Q queries, (N, Q); None where a scorer took no part."""

    bm25: Floats | None
    cosine: Floats | None


@dataclass(frozen=True, slots=True)
class OwnScores:
    """The own score is the sum of ``terms``, each (N, Q)."""

    terms: dict[str, Floats]

    def total(self) -> Floats:
        """The own score, shape (N, Q), columns contiguous."""
        return np.asfortranarray(sum(self.terms.values()), dtype=np.float32)


def raw_scores(
    snapshot: Snapshot, queries: Sequence[Terms], vectors: Floats | None, mode: Mode
) -> RawScores:
    """BM25 and cosine of every fragment for every query; ``vectors`` has a unit row per query."""
    bm25 = cosine = None
    if mode != "dense":
        bm25 = np.stack([snapshot.lexical.score(query) for query in queries]).T
    if mode != "lexical" and vectors is not None and snapshot.embedded.any():
        cosine = cosines(snapshot.items.vectors, vectors)
    return RawScores(bm25, cosine)


def fuse(snapshot: Snapshot, raw: RawScores, queries: Sequence[Terms]) -> OwnScores:
    """Standardise both scores over the space and add them, BM25 by how much it has to say.

    BM25 counts fully once one fragment holds ``FULL_COVERAGE`` of the query by idf, and in
    proportion below: where query and text share few words its best hits are accidents.
    """
    terms: dict[str, Floats] = {}
    if raw.bm25 is not None:
        terms["lexical"] = standardised(raw.bm25)
        if raw.cosine is not None:
            # How much BM25 has to say is seen at its best hit: the share of the query it covers.
            best = raw.bm25.argmax(axis=0).tolist()
            coverage = [
                snapshot.lexical.coverage(query, row)
                for query, row in zip(queries, best, strict=True)
            ]
            weights = np.minimum(1, np.array(coverage, dtype=np.float32) / FULL_COVERAGE)
            terms["lexical"] *= weights
    if raw.cosine is not None:
        terms["dense"] = standardised(raw.cosine, snapshot)
    return OwnScores(terms)


def standardised(scores: Floats, snapshot: Snapshot | None = None) -> Floats:
    """Scores in standard deviations from their mean, each column by itself.

    Given a snapshot, mean and deviation are those of the embedded fragments. The others get 0,
    which is the mean: a vector that is not known yet says nothing about its fragment.
    """
    partial = snapshot is not None and not snapshot.embedded.all()
    embedded_scores = scores[snapshot.embedded] if snapshot is not None and partial else scores
    centre = embedded_scores.mean(axis=0, dtype=np.float64).astype(np.float32)
    result: Floats = scores - centre
    spread = result[snapshot.embedded] if snapshot is not None and partial else result
    deviation = np.sqrt(np.einsum("nq,nq->q", spread, spread) / max(len(spread), 1))
    # Equal scores leave rounding errors, which must not be blown up to scores of their own.
    flat = deviation <= FLAT * np.maximum(np.abs(centre), 1)
    result *= np.where(flat, 0, 1 / np.where(flat, 1, deviation)).astype(np.float32)
    if snapshot is not None and partial:
        result[~snapshot.embedded] = 0
    return result
