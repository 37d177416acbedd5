"""How well a ranking finds the evidence: recall, precision, nDCG and MRR, and tokens spent.

``any@k`` is one if any of the evidence is among the first k units. Tables add ``all@k``, which is
one if all of it is.

Rankings are of evidence units. Passages are turned into units first (:func:`ranked_units`), so
that a policy whose passages are longer or shorter than a unit is measured on the same scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import ir_measures
from ir_measures import RR, P, R, Success, nDCG

RANKS = (3, 5, 10)
"""The cut-offs that are measured: hits that a person reads, a short prompt and a usual one."""

BUDGETS = (250, 500, 1000, 2000)
"""Tokens of retrieved text at which recall is reported; the papers' contexts start at 1,000."""


_MEASURES: Final[dict[str, Any]] = {"mrr": RR} | {
    f"{name}@{k}": measure @ k
    for name, measure in {"recall": R, "any": Success, "precision": P, "ndcg": nDCG}.items()
    for k in RANKS
}
_NAMES: Final = {measure: name for name, measure in _MEASURES.items()}


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A retrieved text: the evidence units it covers, its length, and its place in reading order.

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
    """The units that passages show or were made of: a reader of the passages is led to them.

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


def recall(ranking: Sequence[str], evidence: frozenset[str]) -> float:
    """The share of the evidence that a ranking holds."""
    return len(evidence.intersection(ranking)) / len(evidence)


def by_rank(passages: Sequence[RetrievedPassage], evidence: frozenset[str]) -> dict[str, float]:
    """The metrics of a ranking at every cut-off. ``evidence`` must not be empty."""
    ranking = ranked_units(passages)
    scores = {unit: -float(rank) for rank, unit in enumerate(ranking)}
    relevant = dict.fromkeys(evidence, 1)
    measured = dict.fromkeys(_MEASURES, 0.0)  # nothing is computed of an empty ranking
    for metric in ir_measures.iter_calc(_MEASURES.values(), {"": relevant}, {"": scores}):
        measured[_NAMES[metric.measure]] = metric.value
    return measured | {"tokens@10": float(_tokens(passages[:10]))}


def overall(passages: Sequence[RetrievedPassage], evidence: frozenset[str]) -> dict[str, float]:
    """Recall of all the passages together, and their tokens. ``evidence`` must not be empty."""
    share = recall(ranked_units(passages), evidence)
    return {"recall@all": share, "tokens@all": float(_tokens(passages))}


def _tokens(passages: Iterable[RetrievedPassage]) -> int:
    return sum(passage.tokens for passage in passages)
