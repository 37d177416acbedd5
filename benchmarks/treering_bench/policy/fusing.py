"""Plain ways to join BM25 and dense scores, which treering's base score is measured against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.space import ScoredPassage, TaskSpace
from treering_bench.task import TaskQuestion

RRF_K = 60  # Cormack et al. (2009), and every search engine since

Scores = NDArray[np.float64]


def ranked(
    space: TaskSpace, scored: Sequence[ScoredPassage], scores: Scores
) -> list[RetrievedPassage]:
    """The passages of the best scores, best first; ties in reading order."""
    order = np.argsort(-scores, kind="stable")[: space.most]
    return [scored[place].passage for place in order]


def _plain(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
    """Both scores in standard deviations from their mean, added with equal weight."""
    scored = space.scored(question)
    bm25, cosine = map(_standardised, _raw(scored))
    return ranked(space, scored, bm25 + cosine)


def _reciprocal_ranks(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
    """Reciprocal rank fusion: Σ 1 / (60 + rank), by words only for texts that share one."""
    scored = space.scored(question)
    bm25, cosine = _raw(scored)
    lexical = np.where(bm25 > 0, 1 / (RRF_K + _ranks(bm25)), 0)
    return ranked(space, scored, lexical + 1 / (RRF_K + _ranks(cosine)))


def _raw(scored: Sequence[ScoredPassage]) -> tuple[Scores, Scores]:
    bm25 = np.array([passage.bm25 for passage in scored])
    return bm25, np.array([passage.cosine for passage in scored])


def _standardised(scores: Scores) -> Scores:
    deviation = float(scores.std())
    centred: Scores = scores - scores.mean()
    return centred / (deviation if deviation > 0 else 1)


def _ranks(scores: Scores) -> Scores:
    """1 for the highest score; ties in reading order."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


FUSING = (RetrievalPolicy("fusion", _plain), RetrievalPolicy("rank-fusion", _reciprocal_ranks))
