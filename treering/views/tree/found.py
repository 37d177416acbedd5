"""A ranking of summaries and texts, given back as hits or as a context of mixed altitudes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from treering.arrays import Floats
from treering.journal.space import SpaceReader
from treering.records import Context, Hit, Level
from treering.search.context import Candidate, CountTokens, arranged, cost_of, excerpt
from treering.search.ranking import Ranking
from treering.search.relations.contract import MISSING
from treering.search.rounds import RankedRows, RoundRanking
from treering.search.searcher import Searcher
from treering.search.terms import terms
from treering.views.choices import TreeMethod
from treering.views.tree import store
from treering.views.tree.cover import candidates, cover, share
from treering.views.tree.search import Allowed, NodeSnapshot, relevance
from treering.views.tree.shape import ROOT, Tree

RELEVANT_TEXTS: Final = 64
"""The least number of texts that a context of mixed altitudes tries to cover."""

TOKENS_A_TEXT: Final = 32
"""A larger budget has more to cover: one text for so many tokens, the length of a short turn."""


class NodeRanking(NamedTuple):
    """Texts and summaries ranked for some queries.

    ``fragments`` are those that meet the filter, and ``allowed`` the rows to show; None is all.
    """

    searcher: Searcher
    reader: SpaceReader
    tree: Tree
    wide: NodeSnapshot
    ranking: Ranking
    fragments: Allowed | None
    allowed: Allowed | None


class Retrieval(NamedTuple):
    """How nodes are found: of a ``level`` or all, by a ``method``, of a cosine of ``least``."""

    level: Level = "all"
    method: TreeMethod = "collapsed"
    least: float | None = None


def node_hits(ranked: NodeRanking, query: int, k: int, how: Retrieval) -> list[Hit]:
    """The k best summaries, or summaries and texts, for a query, best first.

    A round of a chat is one of the k, and its messages follow each other. A traversal finds up to
    k at each level.
    """
    return [text.hit for texts in found_nodes(ranked, query, k, how) for text in texts]


def found_nodes(ranked: NodeRanking, query: int, k: int, how: Retrieval) -> list[list[Candidate]]:
    """As ``node_hits``: the texts of each node, to be put into a context."""
    rows = node_rows(ranked, query, k, how)
    summaries = [row for row in rows if row >= ranked.wide.texts]
    speaks_for = {row: row for row in rows}
    if summaries:
        scores = ranked.ranking.scores[:, query]
        speaks_for |= ranked.wide.best_texts(summaries, scores, ranked.allowed)
    shown = _shown(ranked, query, speaks_for)
    return [[replace(text, unit=row) for text in shown[row]] for row in rows]


def node_rows(
    ranked: NodeRanking, query: int, k: int, how: Retrieval, *, placed: bool = False
) -> list[int]:
    """The rows of the nodes that are found, best first; of repetitions one.

    With ``placed``, texts without a place in the tree are left out.
    """
    wide, ranking = ranked.wide, ranked.ranking
    allowed = wide.distinct(ranked.allowed)
    if placed:
        allowed &= wide.node != MISSING
    if how.level == "summaries":
        allowed[: wide.texts] = False
    if how.method == "traversal":
        rows: list[int] = []
        for row in _traversal(ranked, ranking.scores[:, query], k):
            # The filter may leave out this row of the node, but not a repetition of its text.
            same = allowed & (wide.node == wide.node[row])
            rows += [row] if allowed[row] else np.flatnonzero(same)[:1].tolist()
    else:
        rows = ranking.best(query, k, allowed).tolist()
    if how.least is None:
        return rows
    return [row for row in rows if (ranking.why(row, query).cosine or 0.0) >= how.least]


def _traversal(ranked: NodeRanking, scores: Floats, k: int) -> list[int]:
    """The k best at every level among the children of the last k best; the best first."""
    tree, row = ranked.tree, ranked.wide.row
    found: list[int] = []
    level = tree.children(ROOT)
    while level:
        made = [node for node in level if node in row]  # a summary may still be to be made
        best = sorted(made, key=lambda node: -float(scores[row[node]]))[:k]
        found += (row[node] for node in best)
        level = [child for node in best for child in tree.children(node)]
    return sorted(found, key=lambda row: -float(scores[row]))


def mixed_context(
    ranked: NodeRanking, query: str, budget: int, count: CountTokens, least: float
) -> Context | None:
    """Passages for the one query that was ranked: a summary or its leaves, never both.

    None where no summary covers more than texts do. Texts of less confidence than ``least`` make
    no summary relevant.
    """
    wide, allowed = ranked.wide, ranked.allowed
    most = max(RELEVANT_TEXTS, budget // TOKENS_A_TEXT)
    relevant = relevance(wide, ranked.ranking.scores[:, 0], most, allowed)
    rows = np.fromiter(relevant, dtype=np.int64)
    confidence = dict(zip(relevant, ranked.ranking.confidence(rows, 0), strict=True))
    relevant = {row: weight for row, weight in relevant.items() if confidence[row] >= least}
    if not relevant:
        return None
    above = {
        row: [summary for summary in wide.above(row) if allowed is None or allowed[summary]]
        for row in relevant
    }
    speaks_for = {row: row for row in relevant}
    for row in relevant:  # best first
        for summary in above[row]:
            speaks_for.setdefault(summary, row)
    shown = _shown(ranked, 0, speaks_for)
    tokens = {row: sum(cost_of(text, count) for text in texts) for row, texts in shown.items()}
    words = {row: _words(texts) for row, texts in shown.items()}
    best = next(iter(relevant))
    is_whole = tokens[best] <= budget
    part = words[best] if is_whole else _words(excerpt(query, shown[best][0], budget, count))
    least = relevant[best] * share(words[best], part)
    taken = cover(candidates(relevant, above, tokens, words), budget, least)
    if all(row < wide.texts for row in taken):
        return None
    return arranged(query, [text for row in taken for text in shown[row]], budget, count)


def _words(texts: Sequence[Candidate]) -> frozenset[int]:
    """The words of what is shown of a row, as search counts them."""
    return frozenset(word for text in texts for word in terms(text.hit.text)[:, 0].tolist())


def _shown(
    ranked: NodeRanking, query: int, speaks_for: Mapping[int, int]
) -> dict[int, list[Candidate]]:
    """What is shown of every row of ``speaks_for``, which maps a row to the text with its place.

    A text gives its own place, and a round has several. A summary has no place in a source, and
    takes that of a text below.
    """
    searcher, reader, _, wide, ranking, meeting, _ = ranked
    members = {row: wide.members(row, meeting).tolist() for row in set(speaks_for.values())}
    places = sorted(place for of_row in members.values() for place in of_row)
    hits = searcher.hits(reader, _of_fragments(wide, ranking), query, np.array(places, np.int64))
    hit_at = dict(zip(places, hits, strict=True))
    items = wide.fragments.items
    texts = {
        row: [
            Candidate(
                hit_at[place],
                int(items.position[place]),
                int(items.session[place]),
                items.vectors[place],
            )
            for place in of_row
        ]
        for row, of_row in members.items()
    }
    first = {row: texts[text][0] for row, text in speaks_for.items() if row >= wide.texts}
    shown = {row: texts[row] for row in speaks_for if row < wide.texts}
    return shown | _summaries(ranked, query, first)


def _summaries(
    ranked: NodeRanking, query: int, first: Mapping[int, Candidate]
) -> dict[int, list[Candidate]]:
    """What is shown of rows that are summaries. ``first`` has the text that gives each a place."""
    _, reader, tree, wide, ranking, _, _ = ranked
    items = wide.snapshot.items
    numbers = {row: int(wide.node[row]) for row in first}
    confidence = ranking.confidence(np.fromiter(numbers, dtype=np.int64), query)
    summaries = store.summaries(reader, ranking.snapshot.state.id, numbers.values())
    shown = {}
    for (row, number), probability in zip(numbers.items(), confidence, strict=True):
        hit = replace(
            first[row].hit,
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
            confidence=probability,
        )
        session, vector = int(items.session[row]), items.vectors[row]
        shown[row] = [Candidate(hit, first[row].rank, session, vector)]
    return shown


def _of_fragments(wide: NodeSnapshot, ranking: Ranking) -> RankedRows:
    """The ranking of the fragments one by one; those of a round have its scores."""
    if wide.round_of is None:
        return ranking
    return RoundRanking(wide.fragments, ranking.scores[wide.round_of], ranking, wide.round_of)
