"""Hits: rows of a ranking with their texts, which are read from the database here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.journal.stored import cut
from treering.records import BLOCK, Hit
from treering.search.best_rows import RankedRows
from treering.search.filters import RowFilter
from treering.search.marks import Mark, Marker, Quote
from treering.search.snapshot import FragmentSource, Snapshot
from treering.split import Span


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads rows of a snapshot from the database; ``allowed`` are those that meet the filter."""

    reader: SpaceReader
    corpus: FragmentSource
    allowed: RowFilter

    @property
    def exact(self) -> Callable[[Codes], Floats] | None:
        """A function that reads the vectors of rows as they were embedded; None if the snapshot
        has them.
        """
        snapshot = self.allowed.snapshot
        model, matrix, numbers = (
            snapshot.state.model,
            snapshot.items.vectors,
            snapshot.vector_number,
        )
        if model is None or getattr(matrix, "is_exact", True):
            return None
        assert numbers is not None  # the database has vectors of eight bits together with them
        return lambda rows: self.corpus.exact(self.reader, model, numbers[rows])

    def quotes(self, rows: Codes) -> list[Quote]:
        """The texts of the fragments at ``rows``, in the order given."""
        snapshot = self.allowed.snapshot
        spans = self.corpus.spans(self.reader, snapshot.fragment[rows].tolist())
        return quotes_of(self.reader, snapshot, rows, spans)


def hits(
    reader: SpaceReader,
    ranking: RankedRows,
    query: int,
    rows: NDArray[np.int64],
    spans: Mapping[int, Span],
    marks: Marker,
) -> list[Hit]:
    """The fragments at ``rows`` as hits for a query, in the order given.

    ``spans`` has the place of each fragment in the text of its entry.
    """
    quotes = quotes_of(reader, ranking.snapshot, rows, spans)
    return [
        _hit(ranking, query, row, quote, spans[fragment], mark, confidence)
        for row, quote, fragment, mark, confidence in zip(
            rows.tolist(),
            quotes,
            ranking.snapshot.fragment[rows].tolist(),
            marks(reader, quotes),
            ranking.confidence(rows, query),
            strict=True,
        )
    ]


def quotes_of(
    reader: SpaceReader, snapshot: Snapshot, rows: NDArray[np.int64], spans: Mapping[int, Span]
) -> list[Quote]:
    """What the fragments at ``rows`` say, in the order given."""
    seqs = snapshot.entry[rows].tolist()
    entry_by_seq = entries.there(reader, seqs)
    return [
        Quote(seq, entry_by_seq[seq], cut(entry_by_seq[seq], spans.get(fragment)), fragment)
        for seq, fragment in zip(seqs, snapshot.fragment[rows].tolist(), strict=True)
    ]


def _hit(
    ranking: RankedRows,
    query: int,
    row: int,
    quote: Quote,
    span: Span,
    mark: Mark,
    confidence: float,
) -> Hit:
    entry = quote.entry
    return Hit(
        score=float(ranking.scores[row, query]),
        text=quote.text,
        entry_id=entry.id,
        source=entry.source,
        position=entry.position,
        start=span[0],
        end=span[1],
        kind=entry.kind,
        why=ranking.why(row, query),
        at=entry.at,
        speaker=entry.speaker,
        role=entry.role,
        session=entry.session,
        metadata={key: value for key, value in entry.metadata.items() if key != BLOCK},
        superseded_by=mark.superseded_by,
        stale=mark.stale,
        level=mark.level,
        confidence=confidence,
    )
