"""A ranking of summaries and texts, given back as hits or as a context of mixed altitudes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from treering.journal.space import SpaceReader
from treering.records import Context, Hit, Level
from treering.search.context import Candidate, CountTokens, arranged, assemble, cost_of
from treering.search.rank import Ranking
from treering.search.searcher import Searcher
from treering.views.tree import store
from treering.views.tree.cover import candidates, cover
from treering.views.tree.search import Allowed, NodeSnapshot, relevance
from treering.views.tree.shape import Tree

RELEVANT_TEXTS: Final = 64
"""The least number of texts that a context of mixed altitudes tries to cover."""

TOKENS_A_TEXT: Final = 32
"""A larger budget has more to cover: one text for so many tokens, the length of a short turn."""


class NodeRanking(NamedTuple):
    """Texts and summaries ranked for some queries. ``allowed`` marks rows to show; None is all."""

    searcher: Searcher
    reader: SpaceReader
    tree: Tree
    wide: NodeSnapshot
    ranking: Ranking
    allowed: Allowed | None


def node_hits(ranked: NodeRanking, query: int, k: int, level: Level) -> list[Hit]:
    """The k best summaries, or summaries and texts, for a query, best first."""
    wide, ranking, allowed = ranked.wide, ranked.ranking, ranked.allowed
    if level == "summaries":
        allowed = np.ones(len(wide.node), dtype=np.bool_) if allowed is None else allowed.copy()
        allowed[: wide.texts] = False
    rows = ranking.best(query, k, allowed).tolist()
    summaries = [row for row in rows if row >= wide.texts]
    speaks_for = {row: row for row in rows}
    speaks_for |= wide.best_texts(summaries, ranking.scores[:, query]) if summaries else {}
    hits = _hits(ranked, query, speaks_for)
    return [hits[row] for row in rows]


def mixed_context(
    ranked: NodeRanking, query: str, budget: int, count: CountTokens, least: float
) -> Context:
    """Passages for the one query that was ranked: a summary or its leaves, never both.

    Texts of less confidence than ``least`` make no summary relevant.
    """
    wide, allowed = ranked.wide, ranked.allowed
    most = max(RELEVANT_TEXTS, budget // TOKENS_A_TEXT)
    relevant = relevance(wide, ranked.ranking.scores[:, 0], most, allowed)
    confidence = {row: ranked.ranking.confidence(row, 0) for row in relevant}
    surest = max(confidence.values(), default=None)
    relevant = {row: weight for row, weight in relevant.items() if confidence[row] >= least}
    if not relevant:
        return Context(query, (), "", 0, budget, surest)
    above = {
        row: [summary for summary in wide.above(row) if allowed is None or allowed[summary]]
        for row in relevant
    }
    speaks_for = {row: row for row in relevant}
    for row in relevant:  # best first
        for summary in above[row]:
            speaks_for.setdefault(summary, row)
    hits = _hits(ranked, 0, speaks_for)
    items = wide.snapshot.items
    shown = {
        row: Candidate(
            hit,
            int(items.position[speaks_for[row]]),
            int(items.session[row]),
            items.vectors[row],
        )
        for row, hit in hits.items()
    }
    tokens = {row: cost_of(candidate, count) for row, candidate in shown.items()}
    vectors = {row: candidate.vector for row, candidate in shown.items()}
    taken = cover(candidates(relevant, above, tokens, vectors), budget)
    if not taken:
        return assemble(query, [shown[row] for row in relevant], budget, count)
    return arranged(query, [shown[row] for row in taken], budget, count)


def _hits(ranked: NodeRanking, query: int, speaks_for: Mapping[int, int]) -> dict[int, Hit]:
    """A hit for every row of ``speaks_for``, which maps a row to the text that gives its place.

    A text gives its own place. A summary has no place in a source, and takes that of a text below.
    """
    searcher, reader, tree, wide, ranking, _ = ranked
    places = sorted(set(speaks_for.values()))
    texts = dict(
        zip(places, searcher.hits(reader, ranking, query, np.array(places, np.int64)), strict=True)
    )
    rows = [row for row in speaks_for if row >= wide.texts]
    summaries = store.summaries(
        reader, ranking.snapshot.state.id, [int(wide.node[row]) for row in rows]
    )
    hits = {row: texts[row] for row in speaks_for if row < wide.texts}
    for row in rows:
        number = int(wide.node[row])
        hits[row] = replace(
            texts[speaks_for[row]],
            score=float(ranking.scores[row, query]),
            text=summaries[number].text or "",
            why=ranking.why(row, query),
            at=None,
            speaker=None,
            role=None,
            session=None,
            level=tree.depth(number),
            node=number,
            summary_of=tree.leaves_below(number),
            confidence=ranking.confidence(row, query),
        )
    return hits
