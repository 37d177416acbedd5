"""The newest of hits that contradict each other represents them, by the best of their scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from treering.records import Hit
from treering.search.terms import terms

TERM: Final = "newest"
"""In ``hit.why``: how much more an older hit scored that this one holds instead of."""


def represent(newer: Hit, older: Hit) -> Hit:
    """Return the newer hit with the score and confidence of the older one, if they are higher."""
    confidence = max(newer.confidence, older.confidence)
    gained = older.score - newer.score
    if gained <= 0:
        return replace(newer, confidence=confidence)
    named = {**newer.why.terms, TERM: newer.why.terms.get(TERM, 0.0) + gained}
    why = replace(newer.why, terms=named)
    return replace(newer, score=older.score, confidence=confidence, why=why)


def represented(query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Let each statement among the hits represent those that it supersedes; the order stays."""
    best = {hit.entry_id: hit for hit in reversed(hits)}
    for hit in hits:
        holding = _holding(query, hit)
        if holding in best:
            best[holding] = represent(best[holding], best[hit.entry_id])
    return [new if (new := best[hit.entry_id]).start == hit.start else hit for hit in hits]


def holding_first(
    query: str, hits: Sequence[Hit], find: Callable[[Collection[str]], Sequence[Hit]]
) -> list[Hit]:
    """Put each statement that holds before the hits that it supersedes, best first.

    ``find`` returns the best hit of each of some entries, by id, that meets the filter.
    """
    holding = [_holding(query, hit) for hit in hits]
    missing = set(filter(None, holding)) - {hit.entry_id for hit in hits}
    every = represented(query, [*hits, *(find(missing) if missing else ())])
    place = {hit.entry_id: at for at, hit in reversed([*enumerate(every)])}
    order: list[int] = []
    for at, newer in enumerate(holding):
        order += [place[newer], at] if newer in place else [at]
    return [every[at] for at in dict.fromkeys(order)]


def _holding(query: str, hit: Hit) -> str | None:
    """Return the entry that holds instead of what a hit says of the query.

    Of a text that says several things, one may be superseded that nobody asked for.
    """
    newer = hit.superseded_by
    if newer is None:
        return None
    if newer.of is not None:
        asked, statement = set(terms(query)[:, 0].tolist()), terms(newer.of)[:, 0].tolist()
        if asked.intersection(terms(hit.text)[:, 0].tolist()) - set(statement):
            return None
    return newer.entry_id
