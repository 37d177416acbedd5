"""Hits: rows of a ranking with their texts, which are read from the database here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treering.arrays import Codes, Floats
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.journal.stored import cut
from treering.records import BLOCK, Hit
from treering.search.filters import RowFilter
from treering.search.marks import Marker, Quote
from treering.search.snapshot import FragmentSource, Snapshot
from treering.split import Span

if TYPE_CHECKING:
    from treering.search.rounds import RankedRows


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads rows of a snapshot from the database; ``allowed`` are those that meet the filter."""

    reader: SpaceReader
    corpus: FragmentSource
    allowed: RowFilter

    @property
    def exact(self) -> Callable[[Codes], Floats] | None:
        """A function that reads vectors as they were embedded; None if the snapshot has them."""
        snapshot = self.allowed.snapshot
        model, numbers = snapshot.state.model, snapshot.vector_number
        if model is None or getattr(snapshot.items.vectors, "is_exact", True):
            return None
        assert numbers is not None  # the database has vectors of eight bits together with them
        return lambda rows: self.corpus.exact(self.reader, model, numbers[rows])

    def quotes(self, rows: Codes) -> list[Quote]:
        """Return the texts of the fragments at ``rows``, in the order given."""
        snapshot = self.allowed.snapshot
        spans = self.corpus.spans(self.reader, snapshot.fragment[rows].tolist())
        return read_quotes(self.reader, snapshot, rows, spans)


def read_quotes(
    reader: SpaceReader, snapshot: Snapshot, rows: Codes, spans: Mapping[int, Span]
) -> list[Quote]:
    """Return the texts of the fragments at ``rows``, in the order given."""
    seqs, fragments = snapshot.entry[rows].tolist(), snapshot.fragment[rows].tolist()
    entry_by_seq = entries.there(reader, seqs)
    return [
        Quote(seq, entry_by_seq[seq], cut(entry_by_seq[seq], spans.get(fragment)), fragment)
        for seq, fragment in zip(seqs, fragments, strict=True)
    ]


def hits(
    reader: SpaceReader,
    ranking: RankedRows,
    query: int,
    rows: Codes,
    spans: Mapping[int, Span],
    marks: Marker,
) -> list[Hit]:
    """Return the fragments at ``rows`` as hits for a query, in the order given.

    ``spans`` has the place of each fragment in the text of its entry.
    """
    quotes = read_quotes(reader, ranking.snapshot, rows, spans)
    found = []
    for row, quote, fragment, mark, confidence in zip(
        rows.tolist(),
        quotes,
        ranking.snapshot.fragment[rows].tolist(),
        marks(reader, quotes),
        ranking.confidence(rows, query),
        strict=True,
    ):
        entry, (start, end) = quote.entry, spans[fragment]
        found.append(
            Hit(
                score=float(ranking.scores[row, query]),
                text=quote.text,
                entry_id=entry.id,
                source=entry.source,
                position=entry.position,
                start=start,
                end=end,
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
        )
    return found
