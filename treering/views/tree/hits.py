"""A ranking of summaries and texts, given back as hits or passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treering.arrays import Floats
from treering.journal.space import SpaceReader
from treering.search.context import Candidate
from treering.search.ranking import Ranking, top_rows
from treering.search.relations.contract import MISSING
from treering.search.rounds import RankedRows, RoundRanking
from treering.search.searcher import Searcher
from treering.views.choices import SpaceSettings
from treering.views.tree import store
from treering.views.tree.search import Allowed, NodeSnapshot
from treering.views.tree.shape import ROOT, Tree


class NodeRanking(NamedTuple):
    """Texts and summaries ranked for a query.

    ``fragments`` are those that meet the filter, and ``allowed`` the rows to show; None is all.
    """

    searcher: Searcher
    reader: SpaceReader
    tree: Tree
    wide: NodeSnapshot
    ranking: Ranking
    fragments: Allowed | None
    allowed: Allowed | None


def found_nodes(ranked: NodeRanking, k: int, how: SpaceSettings) -> list[list[Candidate]]:
    """The texts of the k best nodes for a query, best first: as the settings say.

    ``how`` has their ``level``, the ``method`` and the ``least`` cosine.
    A round of a chat is one of the k, and has several texts. A traversal finds up to k at each
    level, and up to k of the texts that are not in the tree yet.
    """
    rows = _node_rows(ranked, k, how)
    summaries = [row for row in rows if row >= ranked.wide.texts]
    speaks_for = {row: row for row in rows}
    if summaries:
        scores = ranked.ranking.scores
        speaks_for |= ranked.wide.best_texts(summaries, scores, ranked.allowed)
    shown = _show_rows(ranked, speaks_for)
    return [[replace(text, unit=row) for text in shown[row]] for row in rows]


def _node_rows(ranked: NodeRanking, k: int, how: SpaceSettings) -> list[int]:
    """The rows of the nodes that are found, best first; of repetitions one."""
    wide, ranking = ranked.wide, ranked.ranking
    allowed = wide.distinct(ranked.allowed)
    if how.level == "summaries":
        allowed[: wide.texts] = False
    if how.method == "traversal":
        rows: list[int] = []
        for row in _traversal(ranked, ranking.scores, k):
            # The filter may leave out this row of the node, but not a repetition of its text.
            same = allowed & (wide.node == wide.node[row])
            rows += [row] if allowed[row] else np.flatnonzero(same)[:1].tolist()
        rows += top_rows(ranking.scores, k, allowed & (wide.node == MISSING)).tolist()
        rows.sort(key=lambda row: -float(ranking.scores[row]))
    else:
        rows = ranking.best(k, allowed).tolist()
    if how.least is None:
        return rows
    return [row for row in rows if (ranking.why(row).cosine or 0.0) >= how.least]


def _traversal(ranked: NodeRanking, scores: Floats, k: int) -> list[int]:
    """The k best at every level among the children of the last k best."""
    tree, row = ranked.tree, ranked.wide.row
    rows: list[int] = []
    level = tree.children(ROOT)
    while level:
        made = [node for node in level if node in row]  # a summary may still be to be made
        best = sorted(made, key=lambda node: -float(scores[row[node]]))[:k]
        rows += (row[node] for node in best)
        level = [child for node in best for child in tree.children(node)]
    return rows


def _show_rows(ranked: NodeRanking, speaks_for: Mapping[int, int]) -> dict[int, list[Candidate]]:
    """The candidates for every row of ``speaks_for``, which maps a row to the text with its place.

    A text gives its own place, and a round has several. A summary lacks a place in a source, and
    takes that of a text below.
    """
    searcher, reader, _, wide, ranking, meeting, _ = ranked
    members = {row: wide.members(row, meeting).tolist() for row in set(speaks_for.values())}
    places = sorted(place for of_row in members.values() for place in of_row)
    hits = searcher.hits(reader, _of_fragments(wide, ranking), np.array(places, np.int64))
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
    return shown | _summaries(ranked, first)


def _summaries(ranked: NodeRanking, first: Mapping[int, Candidate]) -> dict[int, list[Candidate]]:
    """The candidates for rows of summaries. ``first`` has the text that gives each a place."""
    _, reader, tree, wide, ranking, _, _ = ranked
    items = wide.snapshot.items
    numbers = {row: int(wide.node[row]) for row in first}
    confidence = ranking.confidence(np.fromiter(numbers, dtype=np.int64))
    summaries = store.summaries(reader, numbers.values())
    shown = {}
    for (row, number), probability in zip(numbers.items(), confidence, strict=True):
        hit = replace(
            first[row].hit,
            score=float(ranking.scores[row]),
            text=summaries[number].text or "",
            why=ranking.why(row),
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
