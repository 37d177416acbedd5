"""From queries to ranked fragments: own scores, relations, and the best k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.records import KINDS, Why
from treering.search.confidence import BUNDLED, Standings, confidence
from treering.search.own import Mode, RawScores, fuse, raw_scores
from treering.search.relations.combine import Relations, relation_terms
from treering.search.relations.defaults import NAMED_SPEAKER
from treering.search.relations.registry import Plan
from treering.search.snapshot import Snapshot
from treering.search.terms import Terms, terms, words

ROLES = frozenset({"user", "assistant", "system", "tool"})  # words, not names, in a query


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scores of N fragments for Q queries and the terms they are the sum of, all (N, Q)."""

    snapshot: Snapshot
    scores: Floats
    terms: dict[str, Floats]
    raw: RawScores
    queries: Sequence[Terms]
    standings: Standings

    def features(self, row: int, query: int) -> dict[str, float]:
        """What is known of how well a fragment answers a query (see ``FEATURES``)."""
        bm25, cosine = self.raw.bm25, self.raw.cosine
        score = float(self.scores[row, query])
        values = {"standing": self.standings.standing(score, query)}
        if bm25 is not None:
            values["coverage"] = self.snapshot.lexical.coverage(self.queries[query], row)
        model = self.snapshot.state.model
        bundled = model is not None and model.name == BUNDLED
        if cosine is not None and bundled and self.snapshot.embedded[row]:
            values["cosine"] = float(cosine[row, query])
        return values

    def confidence(self, row: int, query: int) -> float:
        """The probability that a fragment answers a query."""
        return confidence(self.features(row, query))

    def why(self, row: int, query: int) -> Why:
        """Why a fragment has its score for a query."""
        bm25, cosine = self.raw.bm25, self.raw.cosine
        return Why(
            terms={name: float(values[row, query]) for name, values in self.terms.items()},
            bm25=None if bm25 is None else float(bm25[row, query]),
            cosine=None if cosine is None else float(cosine[row, query]),
        )

    def best(self, query: int, k: int, allowed: NDArray[np.bool_] | None = None) -> Codes:
        """The rows of the k best fragments for a query, best first; ties by order of arrival."""
        scores = self.scores[:, query]
        if allowed is not None:
            scores = np.where(allowed, scores, -np.inf)
        total = len(scores) if allowed is None else int(allowed.sum())
        k = min(k, total)
        if not k:
            return np.zeros(0, dtype=np.int64)
        # All rows that reach the k-th best score: a partition alone would cut ties by chance.
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        rows = np.flatnonzero(scores >= threshold)
        order = np.argsort(-scores[rows], kind="stable")
        best: Codes = rows[order][:k]
        return best


def rank(
    snapshot: Snapshot,
    relations: Relations,
    plan: Plan,
    queries: Sequence[str],
    vectors: Floats | None,
    mode: Mode,
) -> Ranking:
    """Score every fragment for every query: ``own + Σ_r α_r · env_r`` (FragRel eq. 10)."""
    counted = [terms(query) for query in queries]
    raw = raw_scores(snapshot, counted, vectors, mode)
    own = fuse(snapshot, raw, counted)
    shape = (len(snapshot), len(queries))
    total = own.total() if own.terms else np.zeros(shape, dtype=np.float32, order="F")
    related = relation_terms(relations, plan, snapshot, total)
    if plan.get("chat") and mode != "dense":
        related |= _named(snapshot, queries)
    parts = own.terms | related
    if len(snapshot.kinds) > 1:
        parts = _comparable(parts, snapshot, plan)
    scores = np.asfortranarray(sum(parts.values())) if parts else total
    return Ranking(snapshot, scores, parts, raw, counted, Standings.of(scores))


def _comparable(parts: dict[str, Floats], snapshot: Snapshot, plan: Plan) -> dict[str, Floats]:
    """Terms divided by ``1 + Σα`` of their kind of content.

    The more relations a kind has the larger are its scores; where several kinds compete, each
    score becomes a weighted mean of own and environment scores. The order within a kind stays.
    """
    weights = [1 + sum(weighted.alpha for weighted in plan.get(kind, ())) for kind in KINDS]
    share = np.reciprocal(np.array(weights, dtype=np.float32))[snapshot.kind][:, None]
    return {name: values * share for name, values in parts.items()}


def _named(snapshot: Snapshot, queries: Sequence[str]) -> dict[str, Floats]:
    """A bonus for the turns of the speakers that a query names; empty if it names none."""
    names = [words(name) for name in snapshot.speakers]
    asked = [words(query) for query in queries]
    # A speaker is named if all words of the name are in the query; "user" is a word, not a name.
    hit = np.array(
        [[bool(name) and name <= query and not name <= ROLES for query in asked] for name in names],
        dtype=np.float32,
    )
    if not hit.any():
        return {}
    none = np.zeros((1, len(queries)), dtype=np.float32)  # the row of MISSING, by index -1
    return {"named": NAMED_SPEAKER * np.concatenate([hit, none])[snapshot.items.speaker]}
