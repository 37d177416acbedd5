"""How well a ranking finds the evidence: recall, precision, nDCG and MRR, and tokens spent.

Rankings are of evidence units. Passages are turned into units first (:func:`ranked_units`), so
that a policy whose passages are longer or shorter than a unit is measured on the same scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RANKS = (3, 5, 10)
"""The cut-offs that are measured: what one reads oneself, a short prompt and a usual one."""

BUDGETS = (250, 500, 1000, 2000)
"""Tokens of retrieved text at which recall is reported; the papers' contexts start at 1,000."""


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A retrieved text: the evidence units it covers, its length, and its place in what was read.

    ``place`` orders the passages of one task as they were said or written. ``sources`` are the
    units that a summary in it was made of, quoted or not.
    """

    units: tuple[str, ...]
    tokens: int
    text: str = ""
    place: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()


def ranked_units(passages: Iterable[RetrievedPassage]) -> list[str]:
    """Units in the order in which the passages first reach them."""
    return list(dict.fromkeys(unit for passage in passages for unit in passage.units))


def reached(passages: Iterable[RetrievedPassage]) -> list[str]:
    """The units that passages show or were made of: what a reader of them is led to.

    Recall of these is an upper end for summaries, as that of what they quote is a lower one.
    """
    units = (unit for passage in passages for unit in (*passage.units, *passage.sources))
    return list(dict.fromkeys(units))


def within_budget(passages: Iterable[RetrievedPassage], budget: int) -> list[RetrievedPassage]:
    """The longest head of a ranking whose texts together have at most ``budget`` tokens."""
    head, spent = [], 0
    for passage in passages:
        spent += passage.tokens
        if spent > budget:
            break
        head.append(passage)
    return head


def recall(ranking: Sequence[str], evidence: frozenset[str], k: int | None = None) -> float:
    """The share of the evidence among the first ``k`` units (all, if ``k`` is None)."""
    return len(evidence.intersection(ranking[:k])) / len(evidence)


def precision(ranking: Sequence[str], evidence: frozenset[str], k: int) -> float:
    """The share of the first ``k`` places that hold evidence; an empty place holds none."""
    return len(evidence.intersection(ranking[:k])) / k


def any_found(ranking: Sequence[str], evidence: frozenset[str], k: int) -> float:
    """One if any of the evidence is among the first ``k`` units, else zero."""
    return float(not evidence.isdisjoint(ranking[:k]))


def ndcg(ranking: Sequence[str], evidence: frozenset[str], k: int) -> float:
    """Normalised discounted cumulative gain with binary gains and the discount log2(rank + 1)."""
    gained = sum(_discount(rank) for rank, unit in enumerate(ranking[:k], 1) if unit in evidence)
    return gained / sum(_discount(rank) for rank in range(1, min(k, len(evidence)) + 1))


def reciprocal_rank(ranking: Sequence[str], evidence: frozenset[str]) -> float:
    """One over the rank of the first evidence, zero if there is none. Its mean is the MRR."""
    return next((1 / rank for rank, unit in enumerate(ranking, 1) if unit in evidence), 0.0)


def by_rank(passages: Sequence[RetrievedPassage], evidence: frozenset[str]) -> dict[str, float]:
    """The metrics of a ranking at every cut-off. ``evidence`` must not be empty."""
    ranking = ranked_units(passages)
    measured = {"mrr": reciprocal_rank(ranking, evidence)}
    for k in RANKS:
        measured[f"recall@{k}"] = recall(ranking, evidence, k)
        measured[f"any@{k}"] = any_found(ranking, evidence, k)
        measured[f"precision@{k}"] = precision(ranking, evidence, k)
        measured[f"ndcg@{k}"] = ndcg(ranking, evidence, k)
    return measured | {"tokens@10": float(_tokens(passages[:10]))}


def overall(passages: Sequence[RetrievedPassage], evidence: frozenset[str]) -> dict[str, float]:
    """Recall of all the passages together, and their tokens. ``evidence`` must not be empty."""
    share = recall(ranked_units(passages), evidence)
    return {"recall@all": share, "tokens@all": float(_tokens(passages))}


def _tokens(passages: Iterable[RetrievedPassage]) -> int:
    return sum(passage.tokens for passage in passages)


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)
