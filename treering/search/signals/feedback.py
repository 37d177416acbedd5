"""What the best hits of a chat add to a question: their words, and their sessions.

A question has few words. The best hits say the same in more: their rarest words are asked for, too
(pseudo-relevance feedback, as in RM3, with idf in the place of a language model). And where three
of the best turns are of one session, its other turns are likely about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, Final

import numpy as np

from treering.arrays import Codes, Floats
from treering.records import KINDS
from treering.search.fusion import standardise
from treering.search.hits import RowReader
from treering.search.lexical import Lexical
from treering.search.ranking import Queries, Ranking, RowValues, Stage
from treering.search.relations.plan import alpha_of
from treering.search.snapshot import Snapshot
from treering.search.terms import dated, terms
from treering.text import with_speaker

HITS: Final = 5  # whose words count
WORDS: Final = 10  # of these, the rarest
SESSION_HITS: Final = 3  # whose sessions count
SESSION: Final = np.float32(2)
"""What all ``SESSION_HITS`` give the turns of their session, in the scale of the own score."""

FULL_WEIGHT_FRAGMENTS = 1 << 13
"""Fragments of a space up to which the words of the best hits count fully, as was measured. A rare
word lies √N deviations above the mean, however large the space is: in a larger one it would drown
what was asked. Of 18,368 fragments of several chats recall@10 is 76.6, 90.7 and 34.5 with this
(LoCoMo, LiHua-World, BEAM), 75.4, 89.8 and 31.5 without, and 75.0, 91.1 and 36.7 without the words
of the best hits at all."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """The best hits support what shares their rare words, and the turns of their sessions.

    How sure a hit is does not change by it: the best of a question to which there is no answer
    support each other, too.
    """

    stage: ClassVar[Stage] = Stage.FEEDBACK
    is_evidence: ClassVar[bool] = False

    name: str = "feedback"

    def contribute(self, queries: Queries, ranking: Ranking) -> RowValues | None:
        """The words and the sessions of the best hits."""
        alpha, reader = alpha_of(ranking.plan, "chat", self.name), queries.rows
        snapshot, standings = ranking.snapshot, ranking.standings
        if not alpha or reader is None or ranking.bm25 is None or standings is None:
            return None
        if "chat" not in snapshot.kinds:
            return None
        columns: list[Floats] = []
        for number, query in enumerate(queries.texts):
            hits = reader.allowed.best(ranking, number, HITS)
            weights = ranking.scores[hits, number] - standings.centre[number]
            column = _by_words(reader, snapshot, query, hits, weights)
            _add_sessions(column, snapshot, hits[:SESSION_HITS])
            if alpha != 1:
                column *= np.float32(alpha)
            if len(snapshot.kinds) > 1:
                column[snapshot.kind != KINDS.index("chat")] = 0
            columns.append(column)
        return RowValues([None] * len(columns), columns)


def _by_words(
    reader: RowReader,
    snapshot: Snapshot,
    query: str,
    hits: Codes,
    weights: Floats,
) -> Floats:
    """BM25 for the words of hits that the query does not say, in standard deviations."""
    asked = set(terms(query)[:, 0].tolist())
    said = [
        [term for term in terms(text)[:, 0].tolist() if term not in asked]
        for text in _texts(reader, hits)
    ]
    of_hits: dict[int, list[float]] = {}
    for of_hit, share in zip(said, np.maximum(weights, 0).tolist(), strict=True):
        for term in of_hit:
            of_hits.setdefault(term, []).append(share)
    weight = _heaviest(snapshot.lexical, of_hits)
    most = sorted(weight, key=lambda term: (-weight[term], term))[:WORDS]
    total = sum(weight[term] for term in most)
    if not total:
        return np.zeros(len(snapshot), dtype=np.float32)
    query_terms = np.array([[term, 1] for term in most], dtype=np.uint32)
    shares = np.array([weight[term] / total for term in most], dtype=np.float32)
    scores = standardise(snapshot.lexical.score(query_terms, shares))
    if len(scores) > FULL_WEIGHT_FRAGMENTS:
        scores *= np.float32(sqrt(FULL_WEIGHT_FRAGMENTS / len(scores)))
    return scores


def _heaviest(lexical: Lexical, shares: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """What terms weigh, by their idf and the shares of the hits that say them: the ``WORDS``
    heaviest, and some others.

    The postings of common words are many. They need not be read where the most that such a word
    may weigh is less than what so many others do.
    """
    bound = lexical.most_rarity(shares)
    most = {term: sum(share * bound[term] for share in shares[term]) for term in shares}
    order = sorted(most, key=lambda term: -most[term])
    weight: dict[int, float] = {}
    for start in range(0, len(order), WORDS):
        least = sorted(weight.values())[-WORDS] if start else 0.0
        part = [term for term in order[start : start + WORDS] if most[term] >= least]
        idf = lexical.rarity(part)
        for term in part:
            weight[term] = sum(share * idf[term] for share in shares[term])
    return weight


def _texts(reader: RowReader, hits: Codes) -> Iterator[str]:
    """The texts of hits as their words are counted: with the speaker and the day."""
    for quote in reader.quotes(hits):
        yield dated(with_speaker(quote.text, quote.entry.speaker), quote.entry.at)


def _add_sessions(values: Floats, snapshot: Snapshot, hits: Codes) -> None:
    """Give all turns of the sessions of hits a share of ``SESSION`` each, in scores of (N,)."""
    document, session = snapshot.items.document, snapshot.items.session
    for hit in hits.tolist():
        rows = _of_document(snapshot, int(document[hit]))
        values[rows[session[rows] == session[hit]]] += SESSION / np.float32(SESSION_HITS)


def _of_document(snapshot: Snapshot, document: int) -> Codes:
    """The rows of a document."""
    reading = snapshot.items.reading
    at = 0 if reading is None else int(np.searchsorted(reading.sources, document))
    if reading is None or at == len(reading.sources) or reading.sources[at] != document:
        return np.flatnonzero(snapshot.items.document == document)
    first, stop = reading.firsts[at : at + 2].tolist()
    rows: Codes = reading.rows[first:stop].astype(np.int64)
    return rows
